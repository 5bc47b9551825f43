"""Ctrl-C strikes a thread at every place where Python looks for signals.

Python does so whenever a function begins.  A tracer raises KeyboardInterrupt at the first
such place of the library, then at the second, and so on, until the work is done before it
is struck.
"""

from __future__ import annotations

import dis
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import interlock
from interlock.events import Event, Parked

from .conftest import Store
from .test_interrupts import assert_left_to

LIBRARY = str(Path(interlock.__file__).parent)


@pytest.fixture
def onlooker(store: Store) -> Iterator[interlock.Client]:
    """A client that is never struck."""
    with store.blocking() as client:
        yield client


class Striker:
    """Interrupts the running thread at one of the places where a signal could."""

    def __init__(self, at: int, part: str) -> None:
        self._left, self._part, self.landed = at, f"{LIBRARY}/{part}", ""

    def __enter__(self) -> Striker:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *exit: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _: Any) -> None:
        if not frame.f_code.co_filename.startswith(self._part) or not _looks_for_signals(frame):
            return
        self._left -= 1
        if self._left < 0 and not self.landed:
            self.landed = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
            raise KeyboardInterrupt


def _looks_for_signals(frame: FrameType) -> bool:
    """Python does not where a generator goes on in another one, lest that be forgotten."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == dis.opmap["RESUME"] and code[at + 1] & 3 < 2


def strikes(work: Callable[[Striker], None], part: str = "") -> int:
    """Do some work again and again, struck one place later each time, in the library or in a part
    of it; how often it was."""
    for at in itertools.count():
        striker = Striker(at, part)
        work(striker)
        if not striker.landed:
            return at
    raise AssertionError


def acquire(lock: interlock.Lock, striker: Striker) -> None:
    """Take the lock and release it, unless struck while taking it."""
    try:
        with striker:
            hold = lock.acquire()
    except KeyboardInterrupt:
        return
    hold.release()


def test_an_acquire_leaves_a_hold_or_nothing(store: Store, onlooker: interlock.Client) -> None:
    def work(striker: Striker) -> None:
        with store.blocking() as client:
            with client.lock("other"):
                pass
            acquire(client.lock("claim"), striker)
            assert_soon_nothing_left(onlooker, client, striker)

    assert strikes(work) > 10


#: What begins a block, or takes a lock for none.
WAYS: dict[str, Callable[[interlock.Client], Any]] = {
    "block": lambda client: client.lock("claim"),
    "attempt": lambda client: client.lock("claim").attempt(),
    "multilock": lambda client: client.multilock("claim", "other"),
    "attempted multilock": lambda client: client.multilock("claim", "other").attempt(),
}


def enter(block: Any, striker: Striker) -> None:
    """Enter a block and leave it, unless struck while entering."""
    try:
        with striker:
            block.__enter__()
    except KeyboardInterrupt:
        return
    block.__exit__(None, None, None)


@pytest.mark.parametrize("way", WAYS)
def test_entering_a_block_leaves_a_hold_or_nothing(
    store: Store, onlooker: interlock.Client, way: str
) -> None:
    def work(striker: Striker) -> None:
        with store.blocking() as client:
            with client.lock("other"):
                pass
            enter(WAYS[way](client), striker)
            assert_soon_nothing_left(onlooker, client, striker)

    assert strikes(work) > 10


@pytest.mark.parametrize("way", [*WAYS, "acquire"])
def test_re_entering_leaves_the_outer_hold_alone(
    store: Store, onlooker: interlock.Client, way: str
) -> None:
    def work(striker: Striker) -> None:
        with store.blocking() as client:
            with client.multilock("claim", "other"):
                if way == "acquire":
                    acquire(client.lock("claim"), striker)
                else:
                    enter(WAYS[way](client), striker)
            assert_soon_nothing_left(onlooker, client, striker)

    assert strikes(work) > 5


def test_a_majority_of_several_clients_leaves_a_hold_or_nothing(
    store: Store, onlooker: interlock.Client
) -> None:
    """Above the links the code is the same whether they wait for their answers, as in memory, or
    are asked side by side, as Redis is."""
    names = ("claim", "other", "more")

    def work(striker: Striker) -> None:
        with store.blocking() as first, store.blocking() as second, store.blocking() as third:
            clients = (first, second, third)
            for each in clients:
                with each.lock("before"):
                    pass
            locks = [each.lock(name) for each, name in zip(clients, names, strict=True)]
            with interlock.majority_of(*locks):
                pass  # all connections are open
            enter(interlock.majority_of(*locks), striker)
            for each, name in zip(clients, names, strict=True):
                assert_soon_nothing_left(onlooker, each, striker, name)

    assert strikes(work, "" if store.name in ("memory", "redis") else "backends") > 20


def test_a_waiter_leaves_a_hold_or_nothing(store: Store, onlooker: interlock.Client) -> None:
    def work(striker: Striker) -> None:
        parked = threading.Event()
        with interlock.connect(store.url, observer=lambda event: park(event, parked)) as client:
            held, free = threading.Event(), threading.Event()
            other = threading.Thread(target=hold_until, args=(onlooker, held, parked, free))
            other.start()
            held.wait(10)
            acquire(client.lock("claim"), striker)
            free.set()
            other.join()
            assert_soon_nothing_left(onlooker, client, striker)

    assert strikes(work) > 20


def assert_soon_nothing_left(
    other: interlock.Client, client: interlock.Client, striker: Striker, name: str = "claim"
) -> None:
    """The same as for any interruption, but the keeper may have to withdraw the rest."""
    try:
        assert_left_to(other, client, 0.9, name)
    except BaseException as error:
        error.add_note(f"interrupted at {striker.landed}")
        raise


def park(event: Event, parked: threading.Event) -> None:
    if isinstance(event, Parked):
        parked.set()


def hold_until(
    client: interlock.Client, held: threading.Event, parked: threading.Event, free: threading.Event
) -> None:
    """Hold the lock until somebody waits for it, or nobody will."""
    with client.lock("claim"):
        held.set()
        while not parked.is_set() and not free.is_set():
            parked.wait(0.001)
