"""The backends that have to prove themselves: a new one is one line in `tests.support.stores`."""

from __future__ import annotations

from collections.abc import Callable

from interlock.testing.contract import KINDS, Case
from interlock.testing.contract.claims import exclusion, holding, keeping
from tests.support.stores import STORES as STORES
from tests.support.stores import nothing_stumbles as nothing_stumbles
from tests.support.stores import url_of as url_of


def _one(kind: str) -> int:
    return 1


def _on_zookeeper(kind: str) -> int:
    """Permits and counts are a queue, or a number, and something else as well."""
    return 2 if kind.endswith(("mutex", "semaphore", "latch")) else 1


#: What it costs to take what is free of a kind.
ROUND_TRIPS: dict[str, Callable[[str], int]] = {
    **dict.fromkeys(STORES, _one),
    "zookeeper": _on_zookeeper,
}

#: Which kinds are the very code of another store, where all is proved of them.
#: - In memory and in a file the ledger is the same, and what it does with a mutex or a fenced lock
#:   it does with a lock, with a leased semaphore as with a semaphore: the client tells them apart.
#: - By Sentinels the kinds are Redis's own, and so are the links; what is added, how a primary is
#:   found and that replicas confirm what is granted and renewed, is proved in full of a lock.
SAME_CODE: dict[str, tuple[str, frozenset[str]]] = {
    "sqlite": ("memory", frozenset({"mutex", "fenced_lock", "leased_semaphore"})),
    "sentinel": ("redis", frozenset(KINDS) - {"lock"}),
}

#: What is proved of them there too: that they are taken, kept and given back.
_CORE = tuple(topic.__name__ for topic in (exclusion, holding, keeping))


def is_redundant(case: Case) -> bool:
    """Whether a claim is about code that proves it elsewhere: it is left to `--everything`."""
    _, same = SAME_CODE.get(case.backend, ("", ()))
    return case.kind in same and case.claim.__module__ not in _CORE
