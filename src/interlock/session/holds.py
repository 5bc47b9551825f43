"""What each thread or task of this process holds.

Threads are told apart by thread-local storage and tasks by the task object itself, never by
a number: numbers are used again, and a new thread would inherit a dead one's locks.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any

from ..recipes.lease import Lease
from ..recipes.local_queue import Key

#: Whatever a name can be held as.
KINDS = (
    *("lock", "mutex", "fair_lock", "fenced_lock", "rwlock"),
    *("semaphore", "leased_semaphore"),
)


class HoldsRef(weakref.ref["Holds"]):
    """Finds what a thread or task holds; answers None once the thread or task has ended.

    Leases have one of these: were they to keep the holds alive, they would outlive their thread.
    It stands for the thread or task, whatever that holds, and so is equal to itself only.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__


class Holds(dict[Key, Lease]):
    """What one thread or task holds, and what it is just taking or giving back.

    A thread does more than one thing at a time where a signal handler interrupts it, and where
    it gives the members of a multilock back side by side.
    """

    __slots__ = ("__weakref__", "doing", "multiholds", "ref")

    def __init__(self) -> None:
        self.doing: tuple[Key, ...] = ()
        #: The multiholds, the newest last.
        self.multiholds: list[Any] = []
        self.ref = HoldsRef(self)

    def named(self, name: str) -> Iterator[Lease]:
        """What is held of a name, whatever it is, the newest of each kind first."""
        for kind in KINDS:
            lease = self.get((kind, name))
            while lease is not None:
                if lease.depth:  # else it is just being given back
                    yield lease
                lease = lease.outer

    def done(self, key: Key) -> None:
        """One thing is done; another may have begun since, and go on."""
        at = len(self.doing) - 1
        while at >= 0 and self.doing[at] != key:
            at -= 1
        self.doing = (*self.doing[: max(at, 0)], *self.doing[at + 1 :])


class ThreadHolds(threading.local):
    """What the running thread holds; it goes when the thread goes."""

    def __init__(self) -> None:
        self.current = Holds()

    def found(self) -> Holds | None:
        """What the running thread holds."""
        return self.current

    def keys(self) -> set[Key]:
        """The names that this thread holds."""
        return set(self.current)


class TaskHolds:
    """What the running task holds; it goes when the task goes."""

    def __init__(self) -> None:
        from asyncio import current_task  # here, so that threads need not import it

        self.current_task = current_task
        self._holds: dict[Any, Holds] = {}

    @property
    def current(self) -> Holds:
        task = self.current_task()
        holds = self._holds.get(task)
        return self._open(task) if holds is None else holds

    def found(self) -> Holds | None:
        """What the running task holds; None where it has held nothing, or there is no task."""
        try:
            return self._holds.get(self.current_task())
        except RuntimeError:
            return None  # this thread runs no event loop

    def _open(self, task: Any) -> Holds:
        if task is None:
            raise RuntimeError("an asyncio lock needs a running task")
        holds = Holds()
        self._holds[task] = holds
        task.add_done_callback(self._holds.pop)
        return holds

    def keys(self) -> set[Key]:
        """The names that any task holds."""
        return {key for holds in self._holds.values() for key in holds}
