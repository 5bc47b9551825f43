"""How waiters of this process hear of what another process has handed to them.

Every commit of another process changes a number that SQLite tells at almost no cost.  Of
the threads that wait, one leads (see `parking.LeaderFollowers`): it asks for that number again
and again, and when it has changed it polls the names that are waited for and wakes the
waiters whose turn has come.  The others sleep: a holder that gives something up, or makes room,
writes down in the same transaction who has it now, so they have nothing to gain by asking.  For
tasks, which must not block, a thread of their own waits, as long as one of them does.

The pauses between two questions begin short and grow with the time in which nothing of
interest has happened: what is handed on quickly is heard of quickly, and a long wait costs
next to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ....drive import now
from ....errors import StoreError
from ....parking import LeaderFollowers, WaitingThread, is_mine
from ..errors import Occupied

#: A name, and the owner that waits for it.
Topic: TypeAlias = tuple[str, str]

#: The pause between two questions: its bounds, its part of the quiet time, and what each
#: waiter adds to it, because polling a thousand names takes a while.
SHORTEST, LONGEST, PART, EACH = 0.0003, 0.03, 1 / 16, 0.00005

#: How long the thread that waits for tasks stays when there is none.
LINGER = 1.0


class WaiterState(NamedTuple):
    """How a waiter stands, as far as a poll can tell."""

    #: Asking again is worth it: it was handed what it waits for, or nothing is in its way.
    due: bool
    #: What changes when anything happens to the name.
    signs: object
    #: How many stand before it.
    ahead: int


class PolledFile(Protocol):
    """What a watch needs of the file."""

    def version(self) -> object: ...
    def poll(self, topics: Sequence[Topic]) -> list[WaiterState]: ...


class CommitWatch:
    """The waiters of this process, threads and tasks."""

    def __init__(self, file: PolledFile) -> None:
        self._file = file
        self._mutex = threading.RLock()
        self._places: dict[Topic, Callable[[], None]] = {}
        self._signs: dict[Topic, object] = {}
        # SQLite can be asked anew in the middle of a question of the same thread.
        self._threads = LeaderFollowers(self._lead, nested=True)
        self._version: object = None
        self._changed_at, self._ahead = 0.0, 0
        # Places of tasks, and the thread that waits for them.
        self._tasks: set[Topic] = set()
        self._lookout: threading.Thread | None = None

    # --- places ----------------------------------------------------------------------------

    def enter(self, topic: Topic, wake: Callable[[], None]) -> None:
        """Hear of a topic from now on; `wake` may be called from any thread."""
        with self._mutex:
            self._places[topic] = wake
            self._changed_at = now()
        self._threads.nudge_leader()  # its pause may be a long one

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
                    self._lookout = None  # the next task tries again
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

    def engaged(self) -> bool:
        """Whether this thread keeps others from coming and going."""
        return is_mine(self._mutex) or self._threads.engaged()

    # --- waiting -----------------------------------------------------------------------------

    def park(self, thread: WaitingThread, until: float) -> bool:
        """Wait for a wake of this thread, or the instant."""
        return self._threads.park(thread, until)

    def _lead(self, leader: WaitingThread, until: float) -> None:
        leader.pause(min(until - now(), self._pause()))
        self._ask()

    def _pause(self) -> float:
        places = len(self._places)
        if places == 0:
            return LINGER
        least = SHORTEST * (1 + self._ahead) + places * EACH
        return max(min((now() - self._changed_at) * PART, LONGEST), least)

    def _look_out(self) -> None:
        """Wait for the tasks of this process; the body of a thread."""
        thread = WaitingThread()
        while self._still_needed():
            self.park(thread, now() + LINGER)

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
            version = self._file.version()
            if version == self._version:
                return
            with self._mutex:
                topics = list(self._places)
            states = self._file.poll(topics)
        except (StoreError, Occupied):
            return  # each waiter asks for itself now and then, and will hear what is wrong
        self._version = version
        self._ahead = min((state.ahead for state in states), default=0)
        for topic, state in zip(topics, states, strict=True):
            self._consider(topic, state)

    def _consider(self, topic: Topic, state: WaiterState) -> None:
        if state.due:
            self.wake((topic,))
        elif self._signs.get(topic) != state.signs:
            self._signs[topic] = state.signs
            self._changed_at = now()
