"""Signals that come again and again move no deadline of the thread that they interrupt."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

import interlock
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

pytestmark = pytest.mark.server


@pytest.fixture
def ticking() -> Iterator[None]:
    """A signal every five milliseconds; after six seconds they end by themselves."""
    end = time.monotonic() + 6

    def tick(*_: object) -> None:
        if time.monotonic() > end:
            signal.setitimer(signal.ITIMER_REAL, 0)

    before = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", ["lock", "fair_lock", "mutex"])
def test_a_wait_ends_in_time_though_signals_come(redis_url: str, kind: str, ticking: None) -> None:
    with (
        interlock.connect(redis_url) as holder,
        interlock.connect(redis_url) as client,
        getattr(holder, kind)("k"),
    ):
        began = time.monotonic()
        with pytest.raises(interlock.AcquireTimeout):
            getattr(client, kind)("k").acquire(timeout=0.3)
        assert time.monotonic() - began < 2


def test_a_silent_server_is_left_in_time_though_signals_come(
    redis_server: RedisServer, redis_url: str, ticking: None
) -> None:
    with (
        FaultProxy(redis_server.port) as proxy,
        interlock.connect(f"redis://127.0.0.1:{proxy.port}") as client,
    ):
        with client.lock("k"):
            pass
        proxy.blackhole()
        began = time.monotonic()
        with pytest.raises(interlock.StoreError):
            client.lock("k").acquire(timeout=0.3)
        assert time.monotonic() - began < 2.8
        proxy.blackhole(on=False)
