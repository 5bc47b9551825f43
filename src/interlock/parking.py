"""Wakes and the waiting for them, for threads; tasks have theirs in `tasks.py`.

A `wake` may come from any thread.  A waiter counts at most one wake: a second one before the
first was seen says nothing new.
"""

from __future__ import annotations

import math
import select
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from threading import get_ident
from types import TracebackType
from typing import Any, Protocol

from .drive import now
from .steps import Call, Flight, Wakes


def _nothing() -> None:
    pass


def is_mine(mutex: Any) -> bool:
    """Whether the running thread has a reentrant mutex: then a signal handler, or a finalizer, has
    interrupted it there, and must not wait for a thread that needs the mutex to go on.

    It is what `threading.Condition` asks of every lock that can tell.
    """
    return bool(mutex._is_owned())


class Signal:
    """What one thread waits for, and any thread or signal handler may set.

    A bare lock, taken while there is nothing to hear: half the cost of an event.  And an event
    is not for signal handlers: one that sets it while its own thread is just setting or clearing
    it waits for itself.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:
            pass  # it is set already

    def wait(self, pause: float) -> None:
        """Block this thread until it is set, or for so many seconds; waiting uses it up."""
        # A lock refuses very long times; asking again later costs nothing.
        self._lock.acquire(timeout=min(max(pause, 0.0), 3600.0))


class ThreadWakes:
    """Where one thread is woken."""

    __slots__ = ("_leave", "_signal", "woken")

    def __init__(self, leave: Callable[[], None] = _nothing) -> None:
        self._leave, self._signal, self.woken = leave, Signal(), False

    def __enter__(self) -> ThreadWakes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def wake(self) -> None:
        self.woken = True
        self._signal.set()

    #: A thread or a signal handler may wake this thread; for tasks the two differ.
    wake_from_afar = wake

    def wait(self, until: float) -> bool:
        """Block this thread until a wake or the instant."""
        while not self.woken and (pause := until - now()) > 0:
            self._signal.wait(pause)
        return self.take()

    def take(self) -> bool:
        """Whether there was a wake; it counts once."""
        woken, self.woken = self.woken, False
        return woken


class Polled(Protocol):
    """What a thread sees to itself, when a descriptor is ready."""

    @property
    def waits_for(self) -> tuple[int, int] | None:
        """The descriptor, and for which events to wait; None when there is none."""
        ...

    def go_on(self) -> None:
        """Do what can be done now: the descriptor is ready for it."""
        ...


class PolledFlight(Flight, Polled, Protocol):
    """A flight whose replies a thread reads itself."""

    #: When replies that have not come are none.
    until: float


def go_on_any(several: Iterable[Polled], left: float) -> None:
    """Wait until one of these can go on, for so many seconds at most, and let it."""
    poll, ready = select.poll(), {}
    for each in several:
        if (waits_for := each.waits_for) is not None:
            poll.register(*waits_for)
            ready[waits_for[0]] = each
    for descriptor, _ in poll.poll(math.ceil(left * 1000)):
        ready[descriptor].go_on()


def await_first(flights: Sequence[PolledFlight], until: float) -> None:
    """Wait until one of them has its replies, or the instant."""
    until = min([until, *(flight.until for flight in flights)])
    while all(flight.replies is None for flight in flights) and (left := until - now()) > 0:
        go_on_any(flights, left)


class ThreadParking:
    """The part of a `spi.Link` that lets its thread wait, away from the store."""

    def begin(self, requests: tuple[Call, ...]) -> Flight | None:
        """Nothing is sent, unless a link says how: its store is asked by waiting for it."""
        return None

    def arrive(self, flights: tuple[PolledFlight, ...], until: float) -> None:
        await_first(flights, until)

    def settle(self, flights: tuple[Flight, ...]) -> None:
        for flight in flights:
            flight.leave()

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, ThreadWakes):
            return wakes.wait(until)
        return pause_thread(until)

    def local(self) -> Wakes:
        return ThreadWakes()


class WaitingThread(ThreadWakes):
    """A thread that waits among others, of which one leads: see `LeaderFollowers`."""

    __slots__ = ()

    def nudge(self) -> None:
        """Let the thread look around, without a wake."""
        self._signal.set()

    def pause(self, seconds: float) -> None:
        """Block this thread until a wake, a nudge, or for so many seconds."""
        self._signal.wait(seconds)


class LeaderFollowers:
    """Threads that wait for news from one source, which only one of them can ask at a time.

    One of the waiting threads leads: it asks the source and wakes the others, which sleep.  When
    the leader has what it waited for, it goes, and nudges another waiter to take the lead.  So
    news reaches a lone waiter without any change of thread, and waiting costs no thread of its
    own.

    Signal handlers.  A handler may interrupt a waiter at any instruction, and wait here itself;
    so the mutex is reentrant, and the leader is always a waiter that is parked.  Where the source
    can be asked anew in the middle of a question (`nested`), a handler that interrupts the leader
    leads in its place; otherwise it follows, and sleeps until its own time is up.
    """

    def __init__(self, lead: Callable[[WaitingThread, float], None], nested: bool = False) -> None:
        #: Asks the source once on behalf of all: given the leader, and until when it may take.
        self._lead, self._nested = lead, nested
        self._mutex = threading.RLock()
        self._leader: WaitingThread | None = None
        #: The thread of the leader.
        self._led_by = 0
        #: The leader and its followers.
        self.parked: set[WaitingThread] = set()

    def park(self, waiter: WaitingThread, until: float) -> bool:
        """Wait for a wake of this waiter, or the instant."""
        self.wait(waiter, until, lambda: waiter.woken)
        return waiter.take()

    def wait(self, waiter: WaitingThread, until: float, done: Callable[[], bool]) -> None:
        """Wait until `done`, or the instant.  Who makes it so nudges the waiter."""
        try:
            while not done() and (left := until - now()) > 0:
                if not self._leads(waiter):
                    waiter.pause(left)
                elif not done():  # the leader before may have made it so, and gone
                    self._lead(waiter, until)
        finally:
            self._resign(waiter)

    def engaged(self) -> bool:
        """Whether this thread keeps others from coming and going."""
        return is_mine(self._mutex)

    def nudge_leader(self) -> None:
        """Let the leader look around: it may sleep longer than is right by now."""
        leader = self._leader
        if leader is not None:
            leader.nudge()

    def _leads(self, waiter: WaitingThread) -> bool:
        """Whether this waiter is to lead, as it is if no other thread does."""
        if self._leader is not waiter:
            thread = get_ident()
            with self._mutex:
                self.parked.add(waiter)
                # A leader in the same thread was interrupted by the handler that waits here.
                if self._leader is None or (self._nested and self._led_by == thread):
                    self._leader, self._led_by = waiter, thread
        return self._leader is waiter

    def _resign(self, waiter: WaitingThread) -> None:
        """Stop waiting.  While no waiter leads, one of those that are parked is told to: the
        heir before it may have been woken itself, and gone without leading."""
        with self._mutex:
            self.parked.discard(waiter)
            if self._leader is waiter:
                self._leader = None
            if self._leader is None and self.parked:
                next(iter(self.parked)).nudge()


def pause_thread(until: float) -> bool:
    """Let this thread sleep until the instant."""
    time.sleep(max(until - now(), 0.0))
    return False
