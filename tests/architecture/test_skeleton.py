"""One skeleton for every backend: the same role has the same file name."""

from __future__ import annotations

import pytest

from .source import SRC

#: The files of a backend.  A role that a store does not have has no file.
ROLES = {
    *("backend", "url", "errors", "directory", "doctor"),
    *("link", "aio"),
    *("layout", "keys"),
    *("locks", "fair_locks", "rwlocks", "semaphores", "latches", "elections", "barriers"),
    "registers",
    *("transport", "scripts"),
}

NEEDED = {"backend", "url", "link", "aio"}

#: What the primitives of one store share, beyond the roles.  No operation of ZooKeeper decides
#: anything, so its stores make nodes, look at the nodes of others and decide by pure functions,
#: which are in `layout`.
SHARED = {
    "redis": {
        "topology",  # which server is the primary, and what its answers mean
        "confirmation",  # which replies count only once replicas have confirmed them
        "cluster",  # a store of many servers, made of links to single ones
        "redlock",  # locks over several servers that vote
        "collisions",  # names that share keys
        *("restart_guard", "guarded_link"),  # what a server that has restarted must not grant
    },
    "zookeeper": {
        *("namespace", "queue_nodes", "permits"),  # the nodes of this client
        "kinds",  # what is seen of the nodes of others
    },
}

BACKENDS = sorted(path.parent.name for path in (SRC / "interlock/backends").glob("*/__init__.py"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_backend_has_the_files_that_every_backend_has(backend: str) -> None:
    places = (SRC / "interlock" / "backends" / backend).iterdir()
    found = {place.stem for place in places if not place.name.startswith("__")}

    assert found >= NEEDED
    assert found - ROLES == SHARED.get(backend, set())
