"""What each of Curator's recipes leaves on the server: names, modes and data."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.zookeepers import ZooKeeperServer

from ...harness.curators import curator
from ...harness.foreign import Foreign
from ...harness.matrix import meets
from ...harness.peers import Actor, Cast

#: What Curator does alone fills no cell of the table.
pytestmark = meets("Curator", "itself", "none", direction=())

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

#: Of each kind of grant: its terms, the folder of its node, and how the node's name ends.
GRANTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "mutex": ({}, "", "lock-"),
    "read": ({}, "", "__READ__"),
    "write": ({}, "", "__WRIT__"),
    "smutex": ({}, "/leases", "lease-"),
    "semaphore": ({"max": 2}, "/leases", "lease-"),
}


def protected(kind: str) -> str:
    """The names of nodes that were made under protection, as a pattern."""
    return rf"_c_{UUID}-{kind}\d{{10}}"


def data(java: Actor, path: str) -> bytes:
    return bytes.fromhex(java.ask("node", "data", path))


def session(java: Actor, path: str) -> str:
    """Whose session a node ends with; 0 for those that stay."""
    return str(java.ask("node", "stat", path)["session"])


def says_an_address(java: Actor, path: str) -> bool:
    return bool(ip_address(data(java, path).decode("ascii")))


def only(nodes: list[str]) -> str:
    (node,) = nodes
    return node


@pytest.mark.parametrize("kind", GRANTS)
def test_a_grant_is_one_node_that_ends_with_the_session(
    kind: str, java: Actor, path: str, jvm: Foreign
) -> None:
    terms, folder, ending = GRANTS[kind]
    java.ask(kind, "acquire", path, **terms)
    node = only(java.ask("node", "nodes", path + folder))
    assert re.fullmatch(protected(ending), node)
    assert node.endswith("0000000000")
    own = f"{path}{folder}/{node}"
    assert session(java, own) == jvm.ask(kind="peer", verb="session")
    assert says_an_address(java, own)
    token = java.ask("node", "stat", own)["czxid"]
    assert java.ask(kind, "token", path) == ([token] if kind == "semaphore" else token)
    java.ask(kind, "release", path)
    assert java.ask("node", "nodes", path + folder) == []


@pytest.mark.parametrize("kind", GRANTS)
def test_the_next_grant_has_the_next_number_and_a_larger_token(
    kind: str, java: Actor, path: str
) -> None:
    terms, folder, _ = GRANTS[kind]
    tokens, numbers = [], []
    for _ in range(3):
        java.ask(kind, "acquire", path, **terms)
        node = only(java.ask("node", "nodes", path + folder))
        numbers.append(int(node[-10:]))
        tokens.append(java.ask("node", "token", f"{path}{folder}/{node}"))
        java.ask(kind, "release", path)
    assert numbers == [0, 1, 2]
    assert tokens == sorted(set(tokens))


def test_who_waits_for_a_lease_stands_in_both_folders(cast: Cast, path: str) -> None:
    """The surplus lease is made under the mutex, which is kept until it is admitted."""
    first, second = cast.actor(), cast.actor()
    first.ask("semaphore", "acquire", path, max=1)
    waiting = second.start("semaphore", "acquire", path, max=1)
    eventually(lambda: second.parked)
    assert len(first.ask("node", "nodes", f"{path}/leases")) == 2
    lock = only(first.ask("node", "nodes", f"{path}/locks"))
    assert re.fullmatch(protected("lock-"), lock)
    first.ask("semaphore", "release", path)
    assert waiting.result(5) is True
    assert first.ask("node", "nodes", f"{path}/locks") == []


def test_a_lease_may_carry_data(java: Actor, path: str) -> None:
    java.ask("semaphore", "acquire", path, max=1, data="who")
    lease = only(java.ask("semaphore", "participants", path))
    assert data(java, f"{path}/leases/{lease}") == b"who"


@pytest.mark.parametrize("identity", ["me", ""])
def test_a_participant_writes_its_id(identity: str, java: Actor, path: str) -> None:
    java.ask("leader", "start", path, identity=identity)
    assert java.ask("leader", "await", path, ms=5000) is True
    node = only(java.ask("node", "nodes", path))
    assert re.fullmatch(protected("latch-"), node)
    assert java.ask("leader", "path", path) == f"{path}/{node}"
    assert data(java, f"{path}/{node}") == identity.encode()
    assert java.ask("leader", "token", path) == java.ask("node", "token", f"{path}/{node}")
    java.ask("leader", "close", path)
    eventually(lambda: java.ask("node", "nodes", path) == [])


def test_a_barrier_is_a_node_that_stays(java: Actor, path: str) -> None:
    java.ask("barrier", "set", path)
    assert session(java, path) == "0"
    assert says_an_address(java, path)


def test_members_of_a_double_barrier_have_plain_names(
    java: Actor, path: str, jvm: Foreign
) -> None:
    assert java.ask("double_barrier", "enter", path, members=1) is True
    member, ready = java.ask("node", "nodes", path)
    assert re.fullmatch(UUID, member)
    assert session(java, f"{path}/{member}") == jvm.ask(kind="peer", verb="session")
    assert says_an_address(java, f"{path}/{member}")
    assert (ready, session(java, f"{path}/{ready}")) == ("ready", "0")
    assert java.ask("double_barrier", "leave", path) is True
    assert java.ask("node", "nodes", path) == []


def test_numbers_are_big_endian(java: Actor, path: str) -> None:
    java.ask("count", "set", f"{path}/count", value=7)
    java.ask("long", "set", f"{path}/long", value=-2)
    assert data(java, f"{path}/count") == (7).to_bytes(4, "big")
    assert data(java, f"{path}/long") == (-2).to_bytes(8, "big", signed=True)
    assert [session(java, f"{path}/{each}") for each in ("count", "long")] == ["0", "0"]


def test_a_namespace_is_the_first_part_of_every_path(cast: Cast, name: str, path: str) -> None:
    plain, spaced = cast.actor(), cast.actor(cast.client(name, namespace=f"space-{name}"))
    spaced.ask("mutex", "acquire", path)
    node = only(plain.ask("node", "nodes", f"/space-{name}{path}"))
    assert spaced.ask("mutex", "path", path) == f"{path}/{node}"
    assert plain.ask("node", "stat", path) is None
    assert plain.ask("mutex", "acquire", path, ms=0) is True


def test_parents_are_empty_and_reaped_when_nobody_is_left(version: str) -> None:
    """Only containers are; the numbers then begin again, but the tokens go on."""
    quickly = {"znode.container.checkIntervalMs": 100}
    with (
        ZooKeeperServer(system=quickly) as server,
        curator(server.hosts, debian=version == "debian") as jvm,
    ):
        java = Cast(jvm).actor()
        java.ask("mutex", "acquire", "/a/b")
        before = java.ask("mutex", "token", "/a/b")
        assert (data(java, "/a"), data(java, "/a/b")) == (b"", b"")
        java.ask("mutex", "release", "/a/b")
        eventually(lambda: java.ask("node", "stat", "/a") is None, within=20)
        java.ask("mutex", "acquire", "/a/b")
        assert java.ask("mutex", "path", "/a/b").endswith("-lock-0000000000")
        assert java.ask("mutex", "token", "/a/b") > before
