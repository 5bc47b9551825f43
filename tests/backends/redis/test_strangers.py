"""What answers there is no Redis server: said in one sentence, once, in both worlds."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import LockLost, OutcomeUnknown, StoreError, StoreUnavailable
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .impostors import Impostor, Turncoat
from .watching import litter, tombs

pytestmark = pytest.mark.server

HTTP = b"HTTP/1.1 400 Bad Request\r\nServer: cloud\r\nConnection: close\r\n\r\n<html>\n"

#: What may be there, whether it speaks first, and what is said of it.
STRANGERS = {
    "http": (HTTP, False, "HTTP/1.1 400 Bad Request"),
    "ssh": (b"SSH-2.0-OpenSSH_9.6\r\n", True, "SSH-2.0-OpenSSH_9.6"),
    "smtp": (b"220 mail.example ESMTP\r\n", True, "220 mail.example ESMTP"),
    "memcached": (b"ERROR\r\n", False, "ERROR"),
    "tls": (b"\x15\x03\x03\x00\x02\x02\x46", False, r"\x15\x03\x03\x00\x02\x02F"),
}

#: With and without questions of the handshake.
WAYS = ["", "?protocol=2", "?protocol=3&client_name=me&db=2"]


@pytest.fixture(params=sorted(STRANGERS))
def stranger(request: pytest.FixtureRequest) -> Iterator[tuple[Impostor, str]]:
    answer, unasked, said = STRANGERS[request.param]
    with Impostor(answer, unasked) as impostor:
        yield impostor, said


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What a person should read is in its records."""
    with caplog.at_level(logging.INFO):
        yield caplog


@pytest.mark.parametrize("way", WAYS)
def test_a_stranger_is_named_by_its_first_line_at_once(
    stranger: tuple[Impostor, str], world: World, logged: pytest.LogCaptureFixture, way: str
) -> None:
    """Waiting is of no use, though the acquire has no timeout."""
    impostor, said = stranger
    client = world.connect(f"{impostor.url}{way}")
    began = time.monotonic()
    with pytest.raises(StoreUnavailable) as caught:
        world.do(client.lock("k").acquire)
    assert time.monotonic() - began < 2
    assert str(caught.value).endswith(f" answered '{said}': is that a Redis server?")
    assert str(caught.value).startswith(f"redis://127.0.0.1:{impostor.port}/")
    assert impostor.accepted == 1
    assert logged.records == []


@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_asked_says_the_same(stranger: Any, world: World, way: str) -> None:
    impostor, _ = stranger
    client = world.connect(f"{impostor.url}{way}")
    asks = [client.lock("k").locked, client.semaphore("k").acquire, lambda: client.inspect("k")]
    for ask in asks:
        with pytest.raises(StoreUnavailable, match="is that a Redis server"):
            world.do(ask)


# --- all of a sudden --------------------------------------------------------------------------


@pytest.fixture
def turncoat(redis_server: RedisServer, redis_url: str) -> Iterator[Turncoat]:
    with Turncoat(redis_server.port) as turncoat:
        yield turncoat


@pytest.fixture(params=[2, 3])
def through(turncoat: Turncoat, request: pytest.FixtureRequest) -> str:
    return f"{turncoat.url}?protocol={request.param}"


def test_a_holder_that_can_no_longer_renew_hears_of_it_in_time_and_in_one_line(
    turncoat: Turncoat, through: str, world: World, logged: pytest.LogCaptureFixture
) -> None:
    hold = world.do(world.connect(through).lock("k", lease=1.2).acquire)
    first = hold._lease.until
    eventually(lambda: hold._lease.until > first)
    turncoat.turned = True
    eventually(lambda: hold.lost, within=3)
    with pytest.raises((LockLost, StoreError)):
        world.do(hold.release)
    eventually(lambda: logged.records)  # the keeper may just be about to say it
    (record,) = logged.records
    assert "was lost" in record.getMessage()
    assert record.exc_info is None


def test_a_stranger_for_a_moment_costs_neither_holder_nor_waiter_the_lock(
    turncoat: Turncoat, through: str, world: World, peek: Any, logged: pytest.LogCaptureFixture
) -> None:
    hold = world.do(world.connect(through).lock("k", lease=3).acquire)
    waiting = world.start(lambda: world.connect(through).lock("k").acquire(timeout=20))
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    connections = turncoat.accepted
    turncoat.turned = True
    eventually(lambda: turncoat.accepted > connections)  # somebody has heard it
    turncoat.turned = False
    first = hold._lease.until
    eventually(lambda: hold._lease.until > first)
    world.do(hold.release)
    world.do(waiting.result(10).release)
    assert litter(peek) == tombs(peek)
    assert [record for record in logged.records if record.exc_info] == []


def test_an_answer_that_turns_into_something_else_is_an_unknown_outcome(
    turncoat: Turncoat, through: str, world: World, peek: Any
) -> None:
    """The question may have been executed: it is withdrawn as soon as that is possible."""
    client = world.connect(through)
    world.do(world.do(client.lock("k").acquire).release)
    turncoat.turned = True
    with pytest.raises((StoreUnavailable, OutcomeUnknown), match="502 Bad Gateway"):
        world.do(lambda: client.lock("k").acquire(blocking=False))
    turncoat.turned = False
    hold = world.do(lambda: client.lock("k").acquire(timeout=5))
    world.do(hold.release)
    assert not peek.exists("k")
