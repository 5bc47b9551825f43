"""A signal that ends the process, wherever it strikes: nothing stays behind in the store."""

from __future__ import annotations

import asyncio
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

import interlock
from interlock import InterlockError, LockLost, aio
from interlock.session import exit_signals, keeper
from tests.backends.handlers import Handler
from tests.support.eventually import eventually
from tests.support.stores import STORES

from .test_handlers import pair

TERM = signal.SIGTERM


def strike() -> None:
    signal.raise_signal(TERM)


@pytest.fixture
def installed() -> Iterator[list[int]]:
    """A handler of the program's own, and how often it was called."""
    called: list[int] = []
    before = signal.signal(TERM, lambda number, frame: called.append(number))
    yield called
    signal.signal(TERM, before)


def from_another_thread(look: Callable[[], Any]) -> Any:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(look()))
    thread.start()
    thread.join(10)
    return seen[0]


class Death:
    """What an onlooker sees at the moment when the process would end."""

    def __init__(self, client: Any, other: interlock.Client) -> None:
        self._client, self._other = client, other
        self.seen: list[Any] = []

    def __call__(self, number: int) -> None:
        self.seen.append(from_another_thread(self._other.locks))
        self._client._session.ending = False  # the test goes on


def bury(client: Any) -> None:
    """Let go of a client that has nothing to give back any more."""
    client._session._finalizer.detach()
    if isinstance(client, interlock.Client):
        client._session.link.close()


async def use(client: aio.Client) -> None:
    try:
        async with client.lock("before"), client.lock("same"):
            pass
    finally:
        client._session.link.hang_up()


def in_a_thread(url: str) -> tuple[interlock.Client, Callable[[], object]]:
    client = interlock.connect(url)
    client.lock("before").acquire()  # the keeper runs, and connections are open
    return client, lambda: pair(client)


def in_a_task(url: str) -> tuple[aio.Client, Callable[[], object]]:
    client = aio.connect(url)
    return client, lambda: asyncio.run(use(client))


@pytest.mark.parametrize(
    ("begin", "store", "stride"),
    [
        *((in_a_thread, store, 1) for store in ("memory", "sqlite", "redis")),
        (in_a_thread, "zookeeper", 5),  # each place takes a session of its own
        *((in_a_task, store, 7) for store in ("memory", "sqlite", "redis")),
    ],
)
def test_process_that_ends_anywhere_in_an_acquire_and_a_release_leaves_nothing(
    begin: Callable[[str], tuple[Any, Callable[[], object]]],
    store: str,
    stride: int,
    url_of: Callable[[str], str],
    installed: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    struck, places, url = True, itertools.count(1, stride), url_of(store)
    monkeypatch.setattr(keeper, "GRACE", 0.0)  # a loop that ends does not wait for the dead
    with interlock.connect(url) as other:
        while struck:
            signal.signal(TERM, signal.SIG_DFL)
            client, work = begin(url)
            client.release_on_exit(signals=[TERM])
            death = Death(client, other)
            monkeypatch.setattr(exit_signals, "die", death)
            handler = Handler(next(places), "", strike)
            with suppress(InterlockError):
                handler.run(work)
            struck = handler.where is not None
            if struck:
                eventually(lambda d=death: d.seen)  # type: ignore[misc]
                assert death.seen == [[]], handler.where
            bury(client)
    assert next(places) > 50, "hardly anything was struck"


@pytest.mark.parametrize("store", ["memory", "sqlite", "redis"])
def test_program_that_goes_on_anywhere_in_an_acquire_and_a_release_is_well(
    store: str, url_of: Callable[[str], str], installed: list[int]
) -> None:
    struck, places, url = True, itertools.count(1), url_of(store)
    with interlock.connect(url) as client, interlock.connect(url) as other:
        client.release_on_exit(signals=[TERM])
        session = client._session
        while struck:
            installed.clear()
            handler = Handler(next(places), "", strike)
            with suppress(LockLost):
                handler.run(lambda: pair(client))
            struck = handler.where is not None
            eventually(lambda s=struck: len(installed) == s)  # type: ignore[misc]
            assert session.schedule.holds() == [], handler.where
            eventually(session.queue.idle)
            assert not session.holds.current and session.holds.current.doing == (), handler.where
            assert other.inspect("same") is None, handler.where
    assert next(places) > 50, "hardly anything was struck"


@pytest.mark.parametrize("store", list(STORES))
def test_waiter_of_the_client_goes_on_where_the_program_does(
    store: str, url_of: Callable[[str], str], installed: list[int]
) -> None:
    """The holder in the main thread loses the lock, and a thread that waits for it gets it."""
    got = threading.Event()
    with interlock.connect(url_of(store)) as client:
        client.release_on_exit(signals=[TERM])

        def wait() -> None:
            with client.lock("same", timeout=20):
                got.set()

        thread = threading.Thread(target=wait)
        with pytest.raises(LockLost, match="SIGTERM came"), client.lock("same"):
            thread.start()
            eventually(lambda: client._session.queue.waiting(("lock", "same")))
            strike()
            assert got.wait(20)
        thread.join(10)
    assert installed == [TERM]
