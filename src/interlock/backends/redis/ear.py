"""The ear: the one connection on which a blocking client hears wakes.

Nobody lives on it.  Of the threads that wait, one leads: it reads the connection, wakes
whoever a message is for, and when it is woken itself another one takes the lead.  So a wake
reaches a lone waiter without any change of thread, and waiting costs no thread of its own.

A lost ear is no disaster: whoever leads opens it again and wakes everybody, because messages
may have been missed; and every waiter asks again within the poll cap in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import hiredis

from ...drive import now
from ...errors import StoreError, StoreMisconfigured
from .connections import command
from .names import Topic
from .replies import from_reply

#: Seconds to wait for a subscription, between pings, and for a pong.
SUBSCRIBING, QUIET, PONG = 2.0, 5.0, 2.0


class EarWire(Protocol):
    """What the ear needs of a connection."""

    def send(self, line: bytes) -> None: ...
    def read(self) -> Any: ...
    def ready(self, pause: float) -> bool: ...
    def close(self) -> None: ...


class EarWakes:
    """A place where one thread hears of some topics."""

    __slots__ = ("_ear", "signal", "topics", "woken")

    def __init__(self, ear: Ear, topics: tuple[Topic, ...]) -> None:
        self._ear, self.topics = ear, topics
        self.signal, self.woken = threading.Event(), False

    def __enter__(self) -> EarWakes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ear.leave(self)

    def wake(self) -> None:
        self.woken = True
        self.signal.set()


class Ear:
    """One subscribed connection, read by whoever waits."""

    def __init__(self, open_wire: Callable[[float], EarWire], label: str) -> None:
        self._open, self._label = open_wire, label
        self._mutex = threading.RLock()
        self._wire: EarWire | None = None
        self._leader: EarWakes | None = None
        self._places: set[EarWakes] = set()
        self._parked: set[EarWakes] = set()
        self._asked: set[str] = set()
        self._confirmed: set[str] = set()
        self._refusal: StoreError | None = None
        self._heard_at = self._pinged_at = 0.0
        self._failures, self._retry_at = 0, 0.0

    def listen(self, topics: tuple[Topic, ...]) -> EarWakes:
        """Hear of these topics from now on; no round trip when already subscribed."""
        place = EarWakes(self, topics)
        channels = {topic.channel for topic in topics}
        with self._mutex:
            self._places.add(place)
            self._subscribe()
        try:
            limit = now() + SUBSCRIBING
            while not channels <= self._confirmed and now() < limit:
                place.woken = False  # opening the ear wakes everybody, us too
                self._wait(place, limit)
                if self._refusal is not None:
                    raise self._refusal
        except BaseException:
            self.leave(place)
            raise
        place.woken = False
        return place

    def leave(self, place: EarWakes) -> None:
        """Stop hearing; channels that nobody needs any more are dropped."""
        with self._mutex:
            self._places.discard(place)
            needed = self._needed()
            # The client's own channel stays: the next waiter will need it at once.
            stale = {each for each in self._asked - needed if each.startswith("redisson")}
            if stale and self._wire is not None:
                self._asked -= stale
                self._confirmed -= stale
                self._send("UNSUBSCRIBE", *stale)

    def park(self, place: EarWakes, until: float) -> bool:
        """Wait for a wake of this place, or the instant."""
        while not place.woken and now() < until:
            self._wait(place, until)
        woken, place.woken = place.woken, False
        return woken

    def close(self) -> None:
        with self._mutex:
            self._drop()

    # --- waiting: lead or follow -----------------------------------------------------------

    def _wait(self, place: EarWakes, until: float) -> None:
        """Wait for anything that concerns this place: lead if nobody does."""
        place.signal.clear()
        with self._mutex:
            self._parked.add(place)
            if self._leader is None:
                self._leader = place
        try:
            if place.woken:
                return
            if self._leader is place:
                self._lead(until)
            else:
                place.signal.wait(min(max(0.0, until - now()), 3600.0))
        finally:
            self._resign(place)

    def _resign(self, place: EarWakes) -> None:
        """Stop waiting.  Whenever nobody leads, somebody who waits is told to: an heir may
        have been woken itself, and gone without leading."""
        with self._mutex:
            self._parked.discard(place)
            if self._leader is place:
                self._leader = None
            if self._leader is None and self._parked:
                next(iter(self._parked)).signal.set()

    def _lead(self, until: float) -> None:
        """Read whatever comes next, for everybody."""
        try:
            wire = self._opened()
            if wire is None:
                # Out of reach just now: the poll cap goes on without wakes.
                pause = min(until, self._retry_at) - now()
                self._leader_sleep(pause)
                return
            self._check_pulse()
            if wire.ready(max(0.0, min(until - now(), QUIET))):
                self._heard_at = now()
                self._dispatch(wire.read())
        except OSError:
            self._fail()

    def _leader_sleep(self, pause: float) -> None:
        leader = self._leader
        if leader is not None:
            leader.signal.wait(max(0.0, pause))

    def _dispatch(self, message: Any) -> None:
        if isinstance(message, hiredis.ReplyError):
            self._refusal = from_reply(str(message), (), self._label)
            with self._mutex:
                self._drop()  # which channel was meant is unknown: the next listener asks anew
            self._wake_all()
        elif isinstance(message, list) and message[0] == b"message":
            self._deliver(message[1].decode(), message[2].decode("utf-8", "replace"))
        elif isinstance(message, list) and message[0] == b"subscribe":
            if (channel := message[1].decode()) in self._asked:
                self._confirmed.add(channel)
            self._nudge_all()

    def _deliver(self, channel: str, message: str) -> None:
        exact, any_message = Topic(channel, message), Topic(channel, None)
        with self._mutex:
            places = list(self._places)
        for place in places:
            if exact in place.topics or any_message in place.topics:
                place.wake()

    def _wake_all(self) -> None:
        with self._mutex:
            for place in self._places:
                place.wake()

    def _nudge_all(self) -> None:
        with self._mutex:
            for place in self._places:
                place.signal.set()

    # --- the connection ----------------------------------------------------------------------

    def _needed(self) -> set[str]:
        return {topic.channel for place in self._places for topic in place.topics}

    def _opened(self) -> EarWire | None:
        """The connection, opened and subscribed anew if it was lost; only a leader asks."""
        if self._wire is None and now() >= self._retry_at:
            try:
                wire = self._open(now() + SUBSCRIBING)
            except StoreMisconfigured as refusal:
                self._refusal = refusal
                raise OSError from refusal
            except StoreError as failure:
                raise OSError from failure
            with self._mutex:
                self._wire, self._refusal, self._failures = wire, None, 0
                self._heard_at = now()
                self._subscribe()
            self._wake_all()
        return self._wire

    def _subscribe(self) -> None:
        """Ask for every channel that is needed and not asked for; under the mutex."""
        missing = self._needed() - self._asked
        if missing and self._wire is not None:
            self._asked |= missing
            self._send("SUBSCRIBE", *missing)

    def _send(self, *words: str) -> None:
        try:
            if self._wire is not None:
                self._wire.send(command(*words))
        except OSError:
            self._drop()

    def _check_pulse(self) -> None:
        """A connection that has been silent for long must answer a ping, or go."""
        at = now()
        if self._pinged_at > self._heard_at:
            if at - self._pinged_at > PONG:
                raise OSError("no pong")
        elif at - self._heard_at > QUIET:
            self._pinged_at = at
            with self._mutex:
                self._send("PING")

    def _fail(self) -> None:
        with self._mutex:
            self._drop()
            self._failures += 1
            self._retry_at = now() + min(0.05 * 2**self._failures, 1.0)
        self._wake_all()

    def _drop(self) -> None:
        if self._wire is not None:
            self._wire.close()
        self._wire = None
        self._asked.clear()
        self._confirmed.clear()
