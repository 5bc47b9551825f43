"""What permits cost on the wire: which requests, and how often a client waits for an answer."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.events import Parked
from tests.support.frames import ZkProxy

from ...support.worlds import World
from .metering import ACQUIRE, RELEASE, Meter
from .scenes import SOON, Recorder, eventually
from .test_cost import meter as meter
from .test_cost import stranger as stranger
from .test_permits_layout import holds_only, made

pytestmark = pytest.mark.server

#: What tells for how many there is room, in the first round trip.
FACTS = {"mutex": "getChildren", "semaphore": "getData", "leased_semaphore": "getData"}
EVERY = pytest.mark.parametrize("kind", FACTS)

#: Longer than anybody waits in vain here, even on a busy machine.
LATE = 5.0


def left(meter: Meter) -> None:
    """Wait until a place in line was left, which its owner does not do."""
    eventually(lambda: "delete" in meter.requests, "the place is not left")


@EVERY
def test_free_permit_is_six_requests_and_its_release_one(
    world: World, meter: Meter, kind: str
) -> None:
    thing = meter.used(made(meter.client(), kind))

    hold = world.do(thing.acquire)
    left(meter)

    assert meter.spent() == ([*ACQUIRE, FACTS[kind], *ACQUIRE, "delete"], 3)
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


@EVERY
def test_grant_takes_two_round_trips_and_does_not_await_the_third(
    world: World, meter: Meter, zk_proxy: ZkProxy, peek: Any, kind: str
) -> None:
    thing = meter.used(made(meter.client(), kind))
    zk_proxy.hold_back(b"<delete>", LATE)

    hold = world.start(thing.acquire).result(LATE * 0.9)

    left(meter)
    zk_proxy.cut()  # nothing passes what is held back, but it is sent again
    holds_only(peek, hold.owner)
    world.do(hold.release)


@EVERY
def test_try_that_fails_takes_all_away_in_a_third_round_trip(
    world: World, stranger: Any, meter: Meter, peek: Any, kind: str
) -> None:
    client, hold = meter.client(), world.do(made(stranger, kind).acquire)
    holds_only(peek, hold.owner)

    assert world.do(lambda: made(client, kind).acquire(blocking=False)) is None

    assert meter.spent() == ([*ACQUIRE, FACTS[kind], *ACQUIRE, "delete", "delete"], 3)


@EVERY
def test_first_in_line_is_let_in_one_round_trip_after_the_release(
    world: World, stranger: Any, meter: Meter, kind: str
) -> None:
    recorder = Recorder()
    client, hold = meter.client(observer=recorder), world.do(made(stranger, kind).acquire)
    waiting = world.start(made(client, kind).acquire)
    recorder.hear(Parked)
    meter.spent()

    world.do(hold.release)
    waiting.result(SOON)
    left(meter)

    assert meter.spent() == (["getChildren", "getChildren", FACTS[kind], "delete"], 2)


def test_permits_are_set_in_one_round_trip_where_they_were_set(world: World, meter: Meter) -> None:
    semaphore = made(meter.client(), "semaphore")
    world.do(lambda: semaphore.set_permits(1))
    meter.spent()

    world.do(lambda: semaphore.set_permits(2))

    assert meter.spent() == (["setData"], 1)
