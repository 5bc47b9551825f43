"""What the same thing costs both sides on the wire, where nobody else wants it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.support.eventually import eventually
from tests.support.frames import ZkProxy
from tests.support.worlds import World

from ...harness.matrix import meets
from ...harness.peers import Cast
from ..people import Person
from .meeting import Javan, Pythonist, newest

#: Nobody meets anybody here, so no cell of the table is filled.
pytestmark = meets("Curator", "itself", "none", direction=())

#: Seconds of delay on the wire, to and fro.
DELAY = 0.02


class Cost(NamedTuple):
    """What an acquire of ours takes."""

    terms: dict[str, Any]
    requests: list[str]
    #: How often it waits for an answer.
    trips: int


STAND = ["create2", "getChildren"]

#: Who has permits leaves the line behind itself, and awaits no answer to that.
COSTS = {
    "mutex": Cost({}, STAND, 1),
    "read": Cost({}, STAND, 1),
    "write": Cost({}, STAND, 1),
    "smutex": Cost({}, [*STAND, "getChildren", *STAND, "delete"], 2),
    "semaphore": Cost({"max": 2}, [*STAND, "getData", *STAND, "delete"], 2),
}


class Meter:
    """Counts what one side sends while it does something."""

    def __init__(self, proxy: ZkProxy) -> None:
        self._proxy = proxy
        proxy.delay(up=DELAY, down=DELAY)

    def cost(self, action: Callable[[], Any]) -> tuple[int, int]:
        """How many requests, and how often it waited for an answer before it sent more."""
        self._proxy.mark()
        action()
        return len(self.requests), self._proxy.round_trips()

    @property
    def requests(self) -> list[str]:
        return self._proxy.requests


@pytest.fixture
def meter(zk_proxy: ZkProxy) -> Meter:
    return Meter(zk_proxy)


def warm(person: Person) -> None:
    """The first one makes the directories, and says who it is."""
    person.take()
    person.give()


@pytest.fixture
def pythonist(world: World, zk_proxy: ZkProxy, path: str, peek: Any) -> Callable[..., Pythonist]:
    """Make somebody of ours whose talk is counted; it keeps a session of a minute."""

    def make(kind: str, **terms: Any) -> Pythonist:
        url = f"{zk_proxy.url()}?session_timeout=60"
        person = Pythonist(world, url, kind, path, **terms)
        warm(person)
        eventually(lambda: peek.exists(f"/interlock:clients/{person.client._session.identity}"))
        return person

    return make


@pytest.fixture
def javan(cast: Cast, zk_proxy: ZkProxy, name: str, path: str) -> Callable[..., Javan]:
    """Make somebody of Java whose talk is counted."""

    def make(kind: str, **terms: Any) -> Javan:
        client = cast.client(f"counted-{name}", hosts=zk_proxy.hosts, session_ms=60_000)
        person = Javan(cast.actor(client), kind, path, **terms)
        warm(person)
        return person

    return make


@newest
@pytest.mark.parametrize("kind", COSTS)
def test_we_ask_no_more_than_java_and_wait_half_as_often(
    kind: str, meter: Meter, pythonist: Callable[..., Pythonist], javan: Callable[..., Javan]
) -> None:
    expected = COSTS[kind]
    java = javan(kind, **expected.terms)
    javas = meter.cost(java.take)
    java.give()
    ours = pythonist(kind, **expected.terms)
    meter.cost(ours.take)
    eventually(lambda: len(meter.requests) >= len(expected.requests))
    assert meter.requests == expected.requests
    assert len(expected.requests) <= javas[0]
    assert expected.trips <= javas[1] / 2
    assert meter.cost(ours.give) == (1, 1)


@pytest.mark.parametrize("kind", COSTS)
def test_what_is_free_is_had_in_little_more_than_its_round_trips(
    kind: str,
    meter: Meter,
    pythonist: Callable[..., Pythonist],
    record_property: Callable[[str, object], None],
) -> None:
    """The best of ten, because the machine is not ours alone."""
    expected = COSTS[kind]
    ours, times = pythonist(kind, **expected.terms), []
    for _ in range(10):
        began = time.monotonic()
        ours.take()
        times.append(time.monotonic() - began)
        ours.give()
    best = min(times) / (2 * DELAY)
    record_property("acquire", f"an acquire takes {best:.2f} round trips")
    assert expected.trips <= best < expected.trips + 0.3
