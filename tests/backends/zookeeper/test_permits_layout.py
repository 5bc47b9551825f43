"""Permits as Java finds them: a line in `locks`, leases in `leases`, and a number beside them."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest

from interlock import AcquireTimeout, StoreMisconfigured
from interlock.backends.zookeeper import layout
from interlock.events import Parked
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World
from .asked import JAVA, stranger
from .scenes import SOON, Recorder, eventually, expire

pytestmark = pytest.mark.server

KINDS = ("mutex", "semaphore", "leased_semaphore")
COUNTED = pytest.mark.parametrize(
    ("kind", "place"), [("semaphore", "count"), ("leased_semaphore", "leased")]
)
EVERY = pytest.mark.parametrize("kind", KINDS)

LEASE = re.compile(r"_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lease-\d{10}")


def made(client: Any, kind: str, permits: int = 1, **terms: Any) -> Any:
    """A thing of a kind; a mutex has one permit anyhow."""
    terms = terms if kind == "mutex" else {"permits": permits, **terms}
    return getattr(client, kind)("k", **terms)


def nodes(peek: Any, part: str) -> list[str]:
    """What is in one of the two directories, in the order of its making."""
    there = peek.exists(f"/k/{part}")
    return sorted(peek.get_children(f"/k/{part}"), key=lambda node: node[-10:]) if there else []


def inside(peek: Any) -> tuple[list[str], list[str]]:
    """Who stands in line, and who has leases."""
    line, leases = ([layout.owner_of(each) for each in nodes(peek, part)] for part in PARTS)
    return line, leases


PARTS = ("locks", "leases")


def holds_only(peek: Any, *owners: str, within: float = SOON) -> None:
    """Wait until just these have leases, and nobody stands in line."""
    eventually(lambda: inside(peek) == ([], [*owners]), f"not {owners} alone", within)


def put(peek: Any, place: str, number: int) -> None:
    peek.set(f"/k/{place}", struct.pack(">i", number))


# --- what is there -----------------------------------------------------------------------------


@EVERY
def test_holder_has_a_lease_and_no_place_in_line(
    world: World, zk_url: str, peek: Any, kind: str
) -> None:
    hold = world.do(made(world.connect(zk_url), kind).acquire)

    holds_only(peek, hold.owner)
    (lease,) = nodes(peek, "leases")
    assert LEASE.fullmatch(lease)
    data, stat = peek.get(f"/k/leases/{lease}")
    assert (data, stat.czxid) == (b"", hold.token)
    assert stat.ephemeralOwner != 0


@EVERY
def test_first_waiter_has_a_lease_too_many_and_the_others_stand_in_line(
    world: World, zk_url: str, peek: Any, kind: str
) -> None:
    hold = world.do(made(world.connect(zk_url), kind).acquire)
    recorders, waiting = [Recorder(), Recorder()], []
    for recorder in recorders:
        thing = made(world.connect(zk_url, observer=recorder), kind)
        waiting.append(world.start(thing.acquire))
        recorder.hear(Parked)
    first, second = (recorder.hear(Parked).owner for recorder in recorders)

    assert inside(peek) == ([first, second], [hold.owner, first])

    for each in waiting:
        world.do(hold.release)
        hold = each.result(SOON)
    holds_only(peek, second)


@COUNTED
def test_number_of_permits_is_four_bytes_that_stay(
    world: World, zk_url: str, peek: Any, kind: str, place: str
) -> None:
    semaphore = made(world.connect(zk_url), kind, 258)
    world.do(world.do(semaphore.acquire).release)

    data, stat = peek.get(f"/k/{place}")
    assert data == b"\x00\x00\x01\x02"
    assert stat.ephemeralOwner == 0
    world.do(lambda: semaphore.set_permits(3))
    assert peek.get(f"/k/{place}")[0] == b"\x00\x00\x00\x03"


def test_mutex_leaves_nothing_that_stays(world: World, zk_url: str, peek: Any) -> None:
    world.do(world.do(world.connect(zk_url).mutex("k").acquire).release)

    assert sorted(peek.get_children("/k")) == ["leases", "locks"]
    assert inside(peek) == ([], [])


def test_weight_is_so_many_leases_and_the_token_is_the_last(
    world: World, zk_url: str, peek: Any
) -> None:
    hold = world.do(made(world.connect(zk_url), "semaphore", 4, weight=3).acquire)

    holds_only(peek, *[hold.owner] * 3)
    tokens = [peek.exists(f"/k/leases/{each}").czxid for each in nodes(peek, "leases")]
    assert hold.token == max(tokens)
    world.do(hold.release)
    assert nodes(peek, "leases") == []


# --- what others write -------------------------------------------------------------------------


@COUNTED
def test_number_that_somebody_else_writes_lets_a_waiter_in(
    world: World, zk_url: str, peek: Any, kind: str, place: str
) -> None:
    first = world.do(made(world.connect(zk_url), kind).acquire)
    recorder = Recorder()
    waiting = world.start(made(world.connect(zk_url, observer=recorder), kind).acquire)
    recorder.hear(Parked)

    put(peek, place, 2)

    second = waiting.result(SOON)
    holds_only(peek, first.owner, second.owner)


@COUNTED
def test_number_that_is_none_is_told(
    world: World, zk_url: str, peek: Any, kind: str, place: str
) -> None:
    peek.create(f"/k/{place}", b"seven", makepath=True)

    with pytest.raises(StoreMisconfigured, match="5 bytes"):
        world.do(made(world.connect(zk_url), kind).acquire)

    assert inside(peek) == ([], [])


@EVERY
def test_strangers_lease_counts(world: World, zk_url: str, peek: Any, kind: str) -> None:
    thing = made(world.connect(zk_url), kind)
    lease = stranger(peek, f"{JAVA}-lease-", "k/leases")
    assert world.do(lambda: thing.acquire(blocking=False)) is None
    assert inside(peek) == ([], [JAVA[3:]])

    peek.delete(lease)

    assert world.do(lambda: thing.acquire(blocking=False)) is not None


@EVERY
def test_stranger_in_line_goes_first(world: World, zk_url: str, peek: Any, kind: str) -> None:
    recorder = Recorder()
    place = stranger(peek, f"{JAVA}-lock-", "k/locks")
    waiting = world.start(made(world.connect(zk_url, observer=recorder), kind).acquire)
    owner = recorder.hear(Parked).owner
    assert inside(peek) == ([JAVA[3:], owner], [])

    peek.delete(place)

    assert waiting.result(SOON).owner == owner
    holds_only(peek, owner)


def test_semaphore_of_java_needs_no_number(world: World, zk_url: str, peek: Any) -> None:
    """Java may have it as a constant of its program; then ours has to say the same."""
    stranger(peek, f"{JAVA}-lease-", "k/leases")
    client = world.connect(zk_url)
    info = world.do(lambda: client.inspect("k"))
    assert (info.kind, info.permits, len(info.holders)) == ("semaphore", None, 1)
    assert world.do(made(client, "semaphore", 2).available) == 1
    for ask in (client.semaphore("k").available, client.semaphore("k").acquire):
        with pytest.raises(StoreMisconfigured, match="permits="):
            world.do(ask)

    assert world.do(made(client, "semaphore", 2).acquire) is not None
    assert world.do(lambda: made(client, "semaphore", 2).acquire(blocking=False)) is None


# --- what can be seen --------------------------------------------------------------------------


def test_lease_too_many_is_seen_as_a_waiter(world: World, zk_url: str) -> None:
    client, recorder = world.connect(zk_url), Recorder()
    hold = world.do(made(client, "semaphore", 3, weight=2).acquire)
    heavy = made(world.connect(zk_url, observer=recorder), "semaphore", 3, weight=2)
    waiting = world.start(heavy.acquire)
    recorder.hear(Parked)

    info = world.do(lambda: client.inspect("k"))

    assert [(each.owner, each.weight) for each in info.holders] == [(hold.owner, 2)]
    assert (info.permits, info.available, info.waiters) == (3, 1, 1)
    world.do(hold.release)
    world.do(waiting.result(SOON).release)


def test_one_lost_lease_of_several_is_a_loss(world: World, zk_url: str, peek: Any) -> None:
    recorder = Recorder()
    client = world.connect(f"{zk_url}?session_timeout=60", observer=recorder)
    hold = world.do(made(client, "semaphore", 3, weight=3).acquire)
    world.do(lambda: hold.on_release_requested(lambda _: None))  # so that the keeper looks now
    eventually(lambda: all(each.watched for each in _shares(client, hold)), "nobody watches")

    peek.delete(f"/k/leases/{nodes(peek, 'leases')[0]}")

    eventually(lambda: hold.lost, "not lost")
    holds_only(peek)


def _shares(client: Any, hold: Any) -> Any:
    namespace = client._session.backend.namespace
    return namespace.nodes[hold.owner, f"{namespace.root}/k/leases"].share


# --- giving up ---------------------------------------------------------------------------------


@EVERY
def test_timeout_leaves_neither_lease_nor_place(
    world: World, zk_url: str, peek: Any, kind: str
) -> None:
    hold = world.do(made(world.connect(zk_url), kind).acquire)

    with pytest.raises(AcquireTimeout):
        world.do(lambda: made(world.connect(zk_url), kind).acquire(timeout=0.1))

    assert inside(peek) == ([], [hold.owner])


@EVERY
def test_waiter_whose_session_ended_stands_at_the_end(
    world: World, zk_url: str, peek: Any, kind: str, zookeeper: ZooKeeperServer
) -> None:
    hold = world.do(made(world.connect(zk_url), kind).acquire)
    recorders, clients, waiting = [Recorder(), Recorder()], [], []
    for recorder in recorders:
        clients.append(world.connect(zk_url, observer=recorder))
        waiting.append(world.start(made(clients[-1], kind).acquire))
        recorder.hear(Parked)
    first, second = (recorder.hear(Parked).owner for recorder in recorders)

    expire(clients[0], zookeeper.hosts)

    eventually(lambda: inside(peek) == ([second, first], [hold.owner, second]), "no new place")
    world.do(hold.release)
    world.do(waiting[1].result(SOON).release)
    assert waiting[0].result(SOON).owner == first
    holds_only(peek, first)
