"""The peer does on Curator what it is told, with the newest version and with Debian's."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.zookeepers import ZooKeeperServer

from ...harness.foreign import SOON, Foreign, ForeignError
from ...harness.matrix import meets
from ...harness.peers import Actor, Cast
from .conftest import BRIEF_MS

#: What Curator does alone fills no cell of the table.
pytestmark = meets("Curator", "itself", "none", direction=())

#: Everything that one has and another waits for.
EXCLUSIVE: dict[str, dict[str, Any]] = {
    "mutex": {},
    "write": {},
    "smutex": {},
    "semaphore": {"max": 1},
}


def parked(actor: Actor, kind: str, verb: str, path: str, **terms: Any) -> Future[Any]:
    """Begin what cannot be done yet, and wait until the actor watches and sleeps."""
    outcome = actor.start(kind, verb, path, **terms)
    eventually(lambda: actor.parked)
    return outcome


def test_both_versions_run(jvm: Foreign, version: str) -> None:
    told = jvm.ask(kind="peer", verb="version")
    if version == "debian":
        assert told == "5.4.0"
    else:
        assert tuple(map(int, told.split("."))) >= (5, 9, 0)


@pytest.mark.parametrize("kind", EXCLUSIVE)
def test_one_holds_and_the_others_wait_in_order(kind: str, cast: Cast, path: str) -> None:
    terms = EXCLUSIVE[kind]
    first, *others = [cast.actor() for _ in range(4)]
    first.ask(kind, "acquire", path, **terms)
    assert others[0].ask(kind, "acquire", path, **terms, ms=10) is False
    queue = [parked(each, kind, "acquire", path, **terms) for each in others]
    holder = first
    for actor, turn in zip(others, queue, strict=True):
        assert not turn.done()
        holder.ask(kind, "release", path)
        assert turn.result(SOON) is True
        holder = actor


def test_only_readers_share(cast: Cast, path: str) -> None:
    first, second, writer = (cast.actor() for _ in range(3))
    for reader in (first, second):
        assert reader.ask("read", "acquire", path, ms=0) is True
    turn = parked(writer, "write", "acquire", path)
    late = cast.actor()
    assert late.ask("read", "acquire", path, ms=10) is False
    for reader in (first, second):
        assert not turn.done()
        reader.ask("read", "release", path)
    assert turn.result(SOON) is True
    assert late.ask("read", "acquire", path, ms=10) is False


def test_a_mutex_is_reentrant_and_a_semaphores_is_not(java: Actor, path: str) -> None:
    mutex, smutex = f"{path}/m", f"{path}/s"
    for _ in range(2):
        assert java.ask("mutex", "acquire", mutex, ms=0) is True
    assert len(java.ask("mutex", "participants", mutex)) == 1
    java.ask("mutex", "release", mutex)
    assert java.ask("mutex", "owned", mutex) is True
    java.ask("smutex", "acquire", smutex)
    assert java.ask("smutex", "acquire", smutex, ms=10) is False


def test_a_mutex_belongs_to_its_thread(cast: Cast, path: str) -> None:
    """Though both have the same object, and the process holds it."""
    first, second = cast.actor(), cast.actor()
    first.ask("mutex", "acquire", path, object="shared")
    assert second.ask("mutex", "held", path, object="shared") is True
    assert second.ask("mutex", "owned", path, object="shared") is False
    with pytest.raises(ForeignError, match="You do not own the lock"):
        second.ask("mutex", "release", path, object="shared")


def test_a_downgrade_lets_a_writer_in_with_5_4_0_alone(
    cast: Cast, path: str, version: str, zookeeper: ZooKeeperServer
) -> None:
    """There the reader queues behind whoever waits; since 5.5.0 it keeps the writer's place."""
    downgrader, other = cast.actor(), cast.actor()
    downgrader.ask("write", "acquire", path)
    turn = parked(other, "write", "acquire", path)
    downgrader.ask("read", "acquire", path)
    reader = downgrader.ask("read", "path", path)
    downgrader.ask("write", "release", path)
    if version == "debian":
        assert reader.endswith("0000000002")
        assert turn.result(SOON) is True
        assert downgrader.ask("read", "owned", path) is True
    else:
        assert reader.endswith("0000000000")
        # The other has looked again, and found somebody else to wait for.
        eventually(lambda: reader in zookeeper.ask("wchp"))
        assert not turn.done()
        downgrader.ask("read", "release", path)
        assert turn.result(SOON) is True


def test_a_semaphore_admits_so_many(cast: Cast, path: str) -> None:
    java, late = cast.actor(), cast.actor()
    for _ in range(2):
        assert java.ask("semaphore", "acquire", path, max=2) is True
    assert late.ask("semaphore", "acquire", path, max=2, ms=10) is False
    assert java.ask("semaphore", "held", path) == 2
    latest, first = java.ask("semaphore", "token", path)
    assert first < latest
    java.ask("semaphore", "release", path)
    assert late.ask("semaphore", "acquire", path, max=2, ms=1000) is True


def test_a_count_drives_a_semaphore(cast: Cast, path: str) -> None:
    terms: dict[str, Any] = {"count": f"{path}/max", "seed": 1}
    first, second, operator = (cast.actor() for _ in range(3))
    first.ask("semaphore", "acquire", f"{path}/it", **terms)
    turn = parked(second, "semaphore", "acquire", f"{path}/it", **terms)
    assert operator.ask("count", "get", f"{path}/max") == 1
    assert operator.ask("count", "try_set", f"{path}/max", value=2) is True
    assert turn.result(SOON) is True


def test_several_are_held_together(cast: Cast, path: str) -> None:
    names = [f"{path}/{each}" for each in "abc"]
    java, other = cast.actor(), cast.actor()
    other.ask("mutex", "acquire", names[1])
    assert java.ask("multi", "acquire", names=names, ms=10) is False
    assert other.ask("mutex", "acquire", names[0], ms=0) is True
    for each in names[:2]:
        other.ask("mutex", "release", each)
    assert java.ask("multi", "acquire", names=names) is True
    assert java.ask("multi", "held", names=names) is True
    tokens = java.ask("multi", "token", names=names)
    assert tokens == sorted(set(tokens))
    java.ask("multi", "release", names=names)
    assert [java.ask("node", "nodes", each) for each in names] == [[], [], []]


def test_one_leads_until_it_closes(cast: Cast, path: str) -> None:
    first, second = cast.actor(), cast.actor()
    first.ask("leader", "start", path, identity="first")
    assert first.ask("leader", "await", path) is True
    second.ask("leader", "start", path, identity="second")
    eventually(lambda: len(first.ask("leader", "participants", path)) == 2)
    assert second.ask("leader", "participants", path) == [
        {"id": "first", "leads": True},
        {"id": "second", "leads": False},
    ]
    turn = parked(second, "leader", "await", path)
    first.ask("leader", "close", path)
    assert turn.result(SOON) is True
    assert second.ask("leader", "leads", path) is True


def test_a_barrier_holds_until_it_is_removed(cast: Cast, path: str) -> None:
    keeper, traveller = cast.actor(), cast.actor()
    keeper.ask("barrier", "set", path)
    assert traveller.ask("barrier", "wait", path, ms=10) is False
    passing = parked(traveller, "barrier", "wait", path)
    keeper.ask("barrier", "remove", path)
    assert passing.result(SOON) is True


def test_members_come_and_go_together(cast: Cast, path: str) -> None:
    first, second = cast.actor(), cast.actor()
    for verb in ("enter", "leave"):
        early = parked(first, "double_barrier", verb, path, members=2)
        assert second.ask("double_barrier", verb, path, members=2) is True
        assert early.result(SOON) is True


def test_numbers_are_added_and_compared(java: Actor, path: str) -> None:
    assert java.ask("long", "get", path) == {"done": True, "before": 0, "after": 0}
    assert java.ask("long", "add", path, value=5) == {"done": True, "before": 0, "after": 5}
    assert java.ask("long", "compare_and_set", path, expected=4, value=9)["done"] is False
    assert java.ask("long", "get", path)["after"] == 5


@pytest.mark.parametrize("kind", ["mutex", "read", "write"])
def test_a_holder_hears_that_it_should_release(
    kind: str, java: Actor, path: str, jvm: Foreign
) -> None:
    java.ask(kind, "make_revocable", path)
    java.ask(kind, "acquire", path)
    own = java.ask(kind, "path", path)
    assert java.ask("node", "data", own) == ""
    assert java.ask(kind, "revoked", path) == 0
    jvm.ask(kind="peer", verb="revoke", path=own)
    eventually(lambda: java.ask(kind, "revoked", path) == 1)
    assert bytes.fromhex(java.ask("node", "data", own)) == b"__REVOKE__"
    assert java.ask(kind, "owned", path) is True


@pytest.mark.parametrize("kind", EXCLUSIVE)
def test_an_interrupted_waiter_leaves_nothing_behind(
    kind: str, cast: Cast, path: str, jvm: Foreign
) -> None:
    terms = EXCLUSIVE[kind]
    first, second = cast.actor(), cast.actor()
    first.ask(kind, "acquire", path, **terms)
    turn = parked(second, kind, "acquire", path, **terms)
    jvm.ask(kind="peer", verb="interrupt", whom=second.name)
    with pytest.raises(ForeignError, match="InterruptedException"):
        turn.result(SOON)
    first.ask(kind, "release", path)
    folders = ("/locks", "/leases") if kind in ("smutex", "semaphore") else ("",)
    eventually(lambda: not any(first.ask("node", "nodes", path + each) for each in folders))


def test_a_killed_holder_is_followed_when_its_session_ends(
    cast: Cast, victim: Foreign, path: str
) -> None:
    Cast(victim).actor().ask("mutex", "acquire", path)
    turn = parked(cast.actor(), "mutex", "acquire", path)
    victim.kill()
    assert turn.result(BRIEF_MS / 1000 + SOON) is True
