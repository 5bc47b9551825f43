"""What a process shares of one lock file: one connection, a mutex, and those who wait.

SQLite lets one connection write at a time, so several of them in one process would only
stand in each other's way; all clients of a process share one instead, and whoever hands a
lock over to a sibling wakes it directly.

Forking.  SQLite remembers its file locks for the whole process.  A child inherits that
memory without the locks, believes that it has locked the file, and would go on with a log
that the others have deleted.  So every connection is closed before a fork, and parent and
child each open another one when they need it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from ...errors import closed
from ...steps import Call, Reply
from .database import Database
from .failures import Occupied, interrupted, label_of
from .opening import Inode
from .watch import Sight, Topic, Watch

T = TypeVar("T")

#: How long a fork waits for a transaction to end.
FORK_PATIENCE = 5.0


class World:
    """One lock file, as this process sees it."""

    def __init__(self, path: str) -> None:
        self.path, self.users = path, 0
        self.watch = Watch(self)
        # A signal handler, or the finalizer of a client that was forgotten, may strike in the
        # middle of a transaction and want one of its own: it must be refused, not blocked.
        self._mutex, self._within = threading.RLock(), False
        self._database: Database | None = None
        self._opened = 0
        # The file that this process has known since it was opened first.
        self._known: Inode | None = None

    def once(self, calls: Sequence[Call]) -> list[Reply] | None:
        """Run calls in one transaction; None while another process is in the way."""
        try:
            replies, handed = self._use(lambda database: database.apply(calls))
        except Occupied:
            return None
        if handed:
            self.watch.wake(handed)
        return replies

    def version(self) -> object:
        """Something that changes whenever another process has committed."""
        return self._use(lambda database: (self._opened, database.version()))

    def glance(self, topics: Sequence[Topic]) -> list[Sight]:
        """How each of these waiters stands."""
        return self._use(lambda database: database.glance(topics))

    def _use(self, purpose: Callable[[Database], T]) -> T:
        with self._mutex:
            if self._within:
                raise interrupted(self.path)
            self._within = True
            try:
                return purpose(self._database or self._open())
            except Occupied:
                raise
            except BaseException:
                self._drop()
                raise
            finally:
                self._within = False

    def _open(self) -> Database:
        if not self.users:
            raise closed(label_of(self.path))
        self._database = Database(self.path, self._known)
        self._known, self._opened = self._database.inode, self._opened + 1
        return self._database

    def _drop(self) -> None:
        """Whatever went wrong, the next one shall find no trace of it."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def close(self) -> None:
        with self._mutex:
            if not self._within:
                self._drop()

    def brace(self) -> bool:
        """Close before a fork, and let nobody open again until `relax`."""
        braced = self._mutex.acquire(timeout=FORK_PATIENCE)
        if braced:
            self.close()
        return braced

    def relax(self) -> None:
        self._mutex.release()


class Worlds:
    """Every world of one process."""

    def __init__(self) -> None:
        self.pid, self._mutex = os.getpid(), threading.RLock()
        self._worlds: dict[str, World] = {}
        self._braced: list[World] = []

    def enter(self, path: str) -> World:
        """Become a user of a world."""
        with self._mutex:
            world = self._worlds.get(path)
            if world is None:
                world = self._worlds[path] = World(path)
            world.users += 1
            return world

    def leave(self, world: World) -> None:
        """Stop being a user; the last one closes it."""
        with self._mutex:
            world.users -= 1
            if world.users == 0:
                self._worlds.pop(world.path, None)
                world.close()

    def brace(self) -> None:
        self._mutex.acquire()
        self._braced = [world for world in self._worlds.values() if world.brace()]

    def relax(self) -> None:
        for world in self._braced:
            world.relax()
        self._mutex.release()


_worlds = Worlds()

#: What forked children must neither use nor close.
inherited: list[Worlds] = []


def worlds() -> Worlds:
    """The worlds of this process; a forked child begins with none."""
    global _worlds
    if _worlds.pid != os.getpid():
        inherited.append(_worlds)
        _worlds = Worlds()
    return _worlds


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: worlds().brace(), after_in_parent=lambda: worlds().relax())
