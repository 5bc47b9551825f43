"""Redisson's RReadWriteLock and our rwlock() on the same names."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.backends.redis.keys import hold_key
from interlock.recipes.lock import POLL_CAP
from tests.backends.redis.watching import Monitor, sha
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.foreign import ForeignError
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import everywhere
from ..harness.peers import Cast
from .looking import PROMPTLY, SLACK, left_behind, subscribers, waiters
from .people import Meeting, Person

pytestmark = [meets("Redisson", "RReadWriteLock", "rwlock()"), everywhere]


@pytest.fixture
def rw(cast: Cast, world: World, redis_url: str, name: str) -> Meeting:
    return Meeting(cast, world, redis_url, "read", name)


def seek(person: Person, peek: Any, name: str) -> None:
    """Let somebody wait until only a message can wake it."""
    before = waiters(peek, name), subscribers(peek, name, "rwlock")
    person.seek()
    eventually(lambda: (waiters(peek, name), subscribers(peek, name, "rwlock")) > before)
    eventually(lambda: person.parked)


@meets(direction=TO_THEM)
def test_javas_writer_holds_promptly_after_the_last_reader_and_not_before(
    rw: Meeting, peek: Any, name: str
) -> None:
    java, ours, writer = rw.java(), rw.ours(), rw.java("write")
    java.take()
    ours.take()
    assert set(peek.hgetall(name)) == {"mode", java.owner, ours.owner}
    assert not rw.ours("write").tries()
    seek(writer, peek, name)
    java.give()
    assert not writer.turn.done()
    ours.give()
    writer.turn.result(PROMPTLY)
    assert peek.hgetall(name) == {"mode": "write", writer.owner + ":write": "1"}
    writer.give()
    eventually(lambda: not left_behind(peek))


@meets(direction=TO_US)
def test_our_writer_holds_promptly_after_the_last_reader_and_not_before(
    rw: Meeting, peek: Any, name: str
) -> None:
    java, ours, writer = rw.java(), rw.ours(), rw.ours("write")
    ours.take()
    java.take()
    assert not rw.java("write").tries()
    seek(writer, peek, name)
    ours.give()
    assert not writer.turn.done()
    java.give()
    writer.turn.result(PROMPTLY)
    assert peek.hgetall(name) == {"mode": "write", writer.owner + ":write": "1"}
    writer.give()
    eventually(lambda: not left_behind(peek))


def many(world: World, url: str, name: str, count: int = 100) -> list[Any]:
    """So many readers of one client of ours: more than anybody looks at."""
    client = world.connect(url)
    taking = [world.start(client.rwlock(name).read().acquire) for _ in range(count)]
    return [each.result(PROMPTLY) for each in taking]


@pytest.mark.parametrize("writer", ["J", "P"])
@meets(direction=BOTH)
def test_a_writer_holds_promptly_after_the_last_of_a_crowd_and_not_before(
    writer: str, rw: Meeting, world: World, redis_url: str, peek: Any, name: str
) -> None:
    waiting: Person = rw.java("write") if writer == "J" else rw.ours("write")
    *crowd, last = many(world, redis_url, name)
    seek(waiting, peek, name)
    for leaving in [world.start(each.release) for each in crowd]:
        leaving.result(PROMPTLY)
    assert not waiting.turn.done()
    world.do(last.release)
    waiting.turn.result(PROMPTLY)
    waiting.give()
    eventually(lambda: not left_behind(peek))


@meets(direction=BOTH)
def test_java_reads_in_a_crowd_of_ours_and_the_last_of_all_frees_it(
    rw: Meeting, world: World, redis_url: str, peek: Any, name: str
) -> None:
    java, writers = rw.java(), [rw.java("write"), rw.ours("write")]
    crowd = many(world, redis_url, name)
    java.take()
    for leaving in [world.start(each.release) for each in crowd]:
        leaving.result(PROMPTLY)
    assert set(peek.hgetall(name)) == {"mode", java.owner}
    assert not any(each.tries() for each in writers)
    java.give()
    assert writers[1].tries()
    writers[1].give()
    eventually(lambda: not left_behind(peek))


@pytest.mark.parametrize("writer", ["J", "P"])
@meets(direction=BOTH)
def test_all_who_wait_to_read_get_in_promptly_after_the_writer(
    writer: str, rw: Meeting, peek: Any, name: str
) -> None:
    """Two threads of one Redisson client and two clients of ours."""
    holder: Person = rw.java("write") if writer == "J" else rw.ours("write")
    holder.take()
    readers = [rw.java(), rw.ours(), rw.java(), rw.ours()]
    for reader in readers:
        reader.seek()
    eventually(lambda: waiters(peek, name) == 2 and all(each.parked for each in readers))
    assert not any(reader.turn.done() for reader in readers)
    holder.give()
    for reader in readers:
        reader.turn.result(PROMPTLY)
    assert set(peek.hgetall(name)) == {"mode"} | {reader.owner for reader in readers}
    for reader in readers:
        reader.give()
    eventually(lambda: not left_behind(peek))


@pytest.mark.parametrize("holder", ["J", "P"])
@meets(direction=BOTH)
def test_who_writes_keeps_both_out(holder: str, rw: Meeting) -> None:
    writer: Person = rw.java("write") if holder == "J" else rw.ours("write")
    others = [rw.java(), rw.ours(), rw.java("write"), rw.ours("write")]
    writer.take()
    assert not any(other.tries() for other in others)
    writer.give()
    assert others[0].tries() and others[1].tries()


@meets(direction=TO_THEM)
def test_java_cannot_end_what_we_hold(rw: Meeting, peek: Any, name: str) -> None:
    ours = rw.ours()
    ours.take()
    before = peek.hgetall(name)
    for kind in ("read", "write"):
        with pytest.raises(ForeignError, match="IllegalMonitorStateException"):
            rw.java(kind).give()
    assert peek.hgetall(name) == before
    ours.give()


# --- leases ------------------------------------------------------------------------------------


def left(peek: Any, name: str) -> float:
    return float(peek.pttl(name)) / 1000


@meets(direction=BOTH)
def test_release_of_a_short_lease_leaves_the_longer_one(rw: Meeting, peek: Any, name: str) -> None:
    """Whoever has the longer one: the lock lives as long as it."""
    java, ours = rw.java(lease_ms=60_000), rw.ours(lease=5, renew=False)
    java.take()
    ours.take()
    ours.give()
    assert 54 < left(peek, name) <= 60
    java.give()
    java, ours = rw.java(lease_ms=5_000), rw.ours(lease=60, renew=False)
    ours.take()
    java.take()
    java.give()
    assert 54 < left(peek, name) <= 60
    ours.give()
    assert not peek.exists(name)


@meets(direction=TO_THEM)
def test_our_renewal_never_shortens_javas_lease(
    rw: Meeting, peek: Any, name: str, monitor: Monitor
) -> None:
    java, ours = rw.java(lease_ms=60_000), rw.ours(lease=2)
    java.take()
    ours.take()
    renewing = sha("rwlock_renew").decode()
    eventually(lambda: any(renewing in seen.words for seen in monitor.sent()))
    assert left(peek, name) > 54
    assert left(peek, hold_key(name, ours.owner)) <= 2
    ours.give()
    java.give()


@meets(direction=TO_US)
def test_javas_renewal_takes_nothing_from_our_lease(
    rw: Meeting, cast: Cast, peek: Any, name: str
) -> None:
    """Its watchdog sets the whole lock to its own time; what is ours is kept beside it."""
    quick = cast.client("quick", watchdog_ms=3000)
    java, ours, writer = rw.java(client=quick), rw.ours(), rw.java("write")
    java.take()
    ours.take()
    assert left(peek, name) > 20
    eventually(lambda: left(peek, name) <= 3)
    assert left(peek, hold_key(name, ours.owner)) > 20
    java.give()
    assert left(peek, name) > 20
    assert not writer.tries()
    ours.give()
    assert writer.tries()


# --- from writing to reading -------------------------------------------------------------------


@meets(direction=TO_US)
def test_we_read_beside_java_that_reads_on_after_writing(
    rw: Meeting, peek: Any, name: str
) -> None:
    """Java says nothing when it does; our waiter finds out by asking."""
    writer, reader = rw.java("write"), rw.ours()
    writer.take()
    writer.actor.ask("read", "lock", name)
    seek(reader, peek, name)
    writer.give()
    assert peek.hget(name, "mode") == "read"
    reader.turn.result(POLL_CAP + SLACK)
    assert set(peek.hgetall(name)) == {"mode", writer.owner, reader.owner}
    assert not rw.ours("write").tries()
    writer.actor.ask("read", "unlock", name)
    reader.give()


@meets(direction=TO_THEM)
def test_java_reads_promptly_beside_us_after_our_downgrade(
    rw: Meeting, peek: Any, name: str
) -> None:
    writer, reader = rw.ours("write"), rw.java()
    writer.take()
    seek(reader, peek, name)
    rw.world.do(writer.hold.downgrade)
    reader.turn.result(PROMPTLY)
    assert not rw.java("write").tries()
    reader.give()
    writer.give()
    eventually(lambda: not left_behind(peek))
