"""Ctrl-C strikes a thread while it waits, while it asks, and while it gives back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import interlock
from interlock.events import Event, Parked
from tests.support.faults import FaultProxy

from .conftest import Store


@contextmanager
def ctrl_c(when: Callable[[], bool]) -> Iterator[None]:
    """Press Ctrl-C as soon as something is true; it must come out of the block."""

    def press() -> None:
        deadline = time.monotonic() + 10
        while not when() and time.monotonic() < deadline:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    finger = threading.Thread(target=press)
    with pytest.raises(KeyboardInterrupt):
        finger.start()
        yield
        while finger.is_alive():  # the work was done before the key was pressed
            time.sleep(0.001)
    finger.join()


class Seen:
    """Counts how often an acquisition was parked."""

    def __init__(self) -> None:
        self.parked = 0

    def __call__(self, event: Event) -> None:
        self.parked += isinstance(event, Parked)


def assert_nothing_left(store: Store, client: interlock.Client) -> None:
    """The client has left no trace, and the next one gets the lock at once."""
    with store.blocking() as other:
        assert_left_to(other, client)


def assert_left_to(
    other: interlock.Client, client: interlock.Client, within: float = 0.0, name: str = "claim"
) -> None:
    """The client has left no trace, and another one gets the lock within some seconds."""
    assert client._session.schedule.holds() == []
    assert client._session.queue.busy() == []
    with other.lock(name, timeout=within) as hold:
        info = other._session.run(hold._lease.store.look(name, hold._lease.until))
        assert info is not None
        assert info.waiters == 0


def test_a_waiter_is_interrupted_and_leaves_nothing(store: Store) -> None:
    seen = Seen()
    with store.blocking() as holder, interlock.connect(store.slow_url, observer=seen) as client:
        with holder.lock("claim"), ctrl_c(lambda: seen.parked > 0):
            client.lock("claim").acquire()

        assert_nothing_left(store, client)


def test_a_waiter_behind_its_sibling_is_interrupted(store: Store) -> None:
    with interlock.connect(store.slow_url) as client:
        held, leave = threading.Event(), threading.Event()

        def stay() -> None:
            with client.lock("claim"):
                held.set()
                leave.wait(10)

        sibling = threading.Thread(target=stay)
        sibling.start()
        held.wait(10)
        with ctrl_c(lambda: bool(client._session.queue._queues.get(("lock", "claim")))):
            client.lock("claim").acquire()
        leave.set()
        sibling.join()

        assert_nothing_left(store, client)


def test_the_body_of_a_block_is_interrupted(store: Store) -> None:
    with interlock.connect(store.slow_url) as client:
        inside = threading.Event()
        with ctrl_c(inside.is_set), client.lock("claim"):
            inside.set()
            time.sleep(10)

        assert_nothing_left(store, client)


def test_a_question_that_arrives_after_its_interruption_is_refused(
    slow_redis: tuple[Store, FaultProxy],
) -> None:
    store, proxy = slow_redis
    with interlock.connect(store.slow_url) as client:
        with client.lock("other"):
            pass
        proxy.hold_back(b"claim", 0.2)
        with ctrl_c(lambda: proxy.fired == 1):
            client.lock("claim").acquire()
        interrupted = time.monotonic()

        assert_nothing_left(store, client)
        while time.monotonic() < interrupted + 0.3:
            time.sleep(0.01)  # the question arrives in the meantime
        assert_nothing_left(store, client)


def test_an_answer_that_is_on_its_way_is_interrupted(
    slow_redis: tuple[Store, FaultProxy],
) -> None:
    store, proxy = slow_redis
    with interlock.connect(store.slow_url) as client:
        with client.lock("other"):
            pass
        proxy.delay(0.0005, 0.1)
        with ctrl_c(lambda: store_knows(store)):
            client.lock("claim").acquire()
        proxy.delay()

        assert_nothing_left(store, client)


def store_knows(store: Store) -> bool:
    with store.blocking() as onlooker:
        return onlooker.lock("claim").locked()


def test_a_release_is_interrupted_and_done_all_the_same(
    slow_redis: tuple[Store, FaultProxy],
) -> None:
    store, proxy = slow_redis
    with interlock.connect(store.slow_url) as client:
        hold = client.lock("claim").acquire()
        proxy.hold_back(b"claim", 0.1)
        with ctrl_c(lambda: proxy.fired == 1):
            hold.release()

        assert_nothing_left(store, client)


def test_an_interruption_while_connecting_leaves_nothing(
    slow_redis: tuple[Store, FaultProxy],
) -> None:
    store, proxy = slow_redis
    with interlock.connect(store.slow_url) as client:
        proxy.blackhole()
        with ctrl_c(lambda: proxy.connections > 0):
            client.lock("claim").acquire()
        proxy.blackhole(on=False)

        assert_nothing_left(store, client)
