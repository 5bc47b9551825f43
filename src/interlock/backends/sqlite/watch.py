"""How waiters of this process hear of what another process has handed to them.

Every commit of another process changes a number that SQLite tells at almost no cost.  Of
the threads that wait, one leads: it asks for that number again and again, and when it has
changed it glances at the names that are waited for and wakes whoever's turn has come.
Everybody else sleeps: whoever gives something up, or makes room, writes down in the same
transaction who has it now, so others have nothing to gain by asking.  When the leader
leaves, another one takes the lead; for tasks, which must not block, a thread of their own
waits, as long as one of them does.

The pauses between two questions begin short and grow with the time in which nothing of
interest has happened: what is handed on quickly is heard of quickly, and a long wait costs
next to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Protocol, TypeAlias

from ...drive import now
from ...errors import StoreError
from .failures import Occupied

#: A name, and the owner that waits for it.
Topic: TypeAlias = tuple[str, str]

#: The pause between two questions: its bounds, its part of the quiet time, and what each
#: waiter adds to it, because glancing at a thousand names takes a while.
SHORTEST, LONGEST, PART, EACH = 0.0003, 0.03, 1 / 16, 0.00005

#: How long the thread that waits for tasks stays when there is none.
LINGER = 1.0


class Sight(NamedTuple):
    """How a waiter stands, as far as a glance can tell."""

    #: Asking again is worth it: it was handed what it waits for, or nothing is in its way.
    due: bool
    #: What changes when anything happens to the name.
    signs: object
    #: How many stand before it.
    ahead: int


class Glances(Protocol):
    """What a watch needs of a world."""

    def version(self) -> object: ...
    def glance(self, topics: Sequence[Topic]) -> list[Sight]: ...


class Seat:
    """A place where one thread waits."""

    __slots__ = ("_leave", "_signal", "woken")

    def __init__(self, leave: Callable[[], None] = lambda: None) -> None:
        # A bare lock, taken while there is nothing to hear: half the cost of an event.
        self._leave, self._signal, self.woken = leave, threading.Lock(), False
        self._signal.acquire()

    def __enter__(self) -> Seat:
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
        self.nudge()

    def nudge(self) -> None:
        """Let the thread look around, without a wake."""
        with suppress(RuntimeError):  # it has been nudged already
            self._signal.release()

    def wait(self, pause: float) -> None:
        """Wait for a wake, a nudge, or so many seconds."""
        self._signal.acquire(timeout=min(max(pause, 0.0), 3600.0))


class Watch:
    """Those who wait in this process, and the one of them who leads."""

    def __init__(self, world: Glances) -> None:
        self._world = world
        self._mutex = threading.RLock()
        self._places: dict[Topic, Callable[[], None]] = {}
        self._signs: dict[Topic, object] = {}
        self._parked: set[Seat] = set()
        self._leader: Seat | None = None
        self._version: object = None
        self._stirred, self._ahead = 0.0, 0
        # Places of tasks, and the thread that waits for them.
        self._tasks: set[Topic] = set()
        self._lookout: threading.Thread | None = None

    # --- places ----------------------------------------------------------------------------

    def enter(self, topic: Topic, wake: Callable[[], None]) -> None:
        """Hear of a topic from now on; `wake` may be called from any thread."""
        with self._mutex:
            self._places[topic] = wake
            self._stirred = now()
            leader = self._leader
        if leader is not None:
            leader.nudge()  # its pause may be a long one

    def enter_task(self, topic: Topic, wake: Callable[[], None]) -> None:
        """The same for a task, which cannot park here itself."""
        self.enter(topic, wake)
        with self._mutex:
            self._tasks.add(topic)
            if self._lookout is None:
                lookout = threading.Thread(
                    target=self._look_out, name="interlock-lookout", daemon=True
                )
                self._lookout = lookout
                try:
                    lookout.start()
                except BaseException:
                    self._lookout = None  # whoever comes next tries again
                    raise

    def leave(self, topic: Topic) -> None:
        with self._mutex:
            self._places.pop(topic, None)
            self._signs.pop(topic, None)
            self._tasks.discard(topic)

    def wake(self, topics: Iterable[Topic]) -> None:
        """It is the turn of these; called after the commit that made it so."""
        for topic in topics:
            wake = self._places.get(topic)
            if wake is not None:
                wake()

    # --- waiting: lead or follow --------------------------------------------------------------

    def park(self, seat: Seat, until: float) -> bool:
        """Wait for a wake of this seat, or the instant."""
        try:
            while not seat.woken and (left := until - now()) > 0:
                if self._leads(seat):
                    seat.wait(min(left, self._pause()))
                    self._ask()
                else:
                    seat.wait(left)
        finally:
            self._resign(seat)
        woken, seat.woken = seat.woken, False
        return woken

    def _leads(self, seat: Seat) -> bool:
        """Whether this seat is to lead, as it is if nobody else does."""
        if self._leader is not seat:
            with self._mutex:
                self._parked.add(seat)
                if self._leader is None:
                    self._leader = seat
        return self._leader is seat

    def _resign(self, seat: Seat) -> None:
        """Stop waiting.  Whenever nobody leads, somebody who waits is told to: an heir may
        have been woken itself, and gone without leading."""
        with self._mutex:
            self._parked.discard(seat)
            if self._leader is seat:
                self._leader = None
            if self._leader is None and self._parked:
                next(iter(self._parked)).nudge()

    def _pause(self) -> float:
        places = len(self._places)
        if places == 0:
            return LINGER
        least = SHORTEST * (1 + self._ahead) + places * EACH
        return max(min((now() - self._stirred) * PART, LONGEST), least)

    def _look_out(self) -> None:
        """Wait for the tasks of this process; the body of a thread."""
        seat = Seat()
        while self._still_needed():
            self.park(seat, now() + LINGER)

    def _still_needed(self) -> bool:
        with self._mutex:
            if not self._tasks:
                self._lookout = None
            return self._lookout is not None

    # --- asking ------------------------------------------------------------------------------

    def _ask(self) -> None:
        """See whether anything was committed, and whose turn it is now."""
        if not self._places:
            return
        try:
            version = self._world.version()
            if version == self._version:
                return
            with self._mutex:
                topics = list(self._places)
            sights = self._world.glance(topics)
        except (StoreError, Occupied):
            return  # each waiter asks for itself now and then, and will hear what is wrong
        self._version = version
        self._ahead = min((sight.ahead for sight in sights), default=0)
        for topic, sight in zip(topics, sights, strict=True):
            self._consider(topic, sight)

    def _consider(self, topic: Topic, sight: Sight) -> None:
        if sight.due:
            self.wake((topic,))
        elif self._signs.get(topic) != sight.signs:
            self._signs[topic] = sight.signs
            self._stirred = now()
