"""What the clients of one process share of a lock file: one connection, a mutex, the waiters.

SQLite lets one connection write at a time, so several of them in one process would only block
each other.  All clients of a process share one instead, and a client that hands a lock over to
a waiter of the same process wakes it directly.

Forking.  SQLite remembers its file locks for the whole process.  A child inherits that
memory without the locks, believes that it has locked the file, and would go on with a log
that other processes have deleted.  So every connection is closed before a fork, and parent and
child each open another one when they need it.

A signal handler may fork in the middle of a transaction of its own thread.  It runs between
two calls of SQLite, so that connection is closed as well, which undoes the transaction.  The
parent runs it again from its beginning.  In the child, if the handler returns there, it fails:
the call is the parent's.  A connection that cannot be closed, because another thread does not
come to the end of its transaction, must not be used by the child: see `OpenFiles.before_fork`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ....errors import closed, forked, interrupted
from ....parking import is_mine
from ....steps import Call, Reply
from ..errors import Occupied, label_of, sealed
from .connections import close_all
from .database import Database
from .default_file import tell_who_shares
from .opening import Inode
from .watch import CommitWatch, Topic, WaiterState

T = TypeVar("T")

#: Seconds that a fork waits for a transaction to end.
FORK_PATIENCE = 5.0


class SharedFile:
    """One lock file, as this process sees it."""

    def __init__(self, path: str, is_sealed: bool = False) -> None:
        self.path, self.users = path, 0
        self.watch = CommitWatch(self)
        # A signal handler, or the finalizer of a forgotten client, may interrupt a transaction
        # and want one of its own: it must be refused, not blocked.
        self._mutex, self._within = threading.RLock(), False
        self._database: Database | None = None
        self._opened, self._told = 0, False
        # The inode that this process opened first under this path.
        self._known: Inode | None = None
        # The process it belongs to, how often that has forked, and whether SQLite is unusable.
        self._pid, self._forks, self._is_sealed = os.getpid(), 0, is_sealed

    def try_apply(self, calls: Sequence[Call]) -> list[Reply] | None:
        """Run calls in one transaction; None while another process is in a transaction."""
        try:
            replies, handed = self._use(lambda database: database.apply(calls))
        except Occupied:
            return None
        if handed:
            self.watch.wake(handed)
        if not self._told:  # outside the mutex, because logging takes locks of its own
            self._told = True
            tell_who_shares(self.path)
        return replies

    def version(self) -> object:
        """A value that changes whenever another process has committed."""
        return self._use(lambda database: (self._opened, database.version()))

    def poll(self, topics: Sequence[Topic]) -> list[WaiterState]:
        """How each of these waiters stands."""
        return self._use(lambda database: database.poll(topics))

    def _use(self, purpose: Callable[[Database], T]) -> T:
        with self._mutex:
            if self._within:
                raise interrupted(self.path, label_of(self.path))
            self._within = True
            try:
                return self._transact(purpose)
            finally:
                self._within = False
                if not self.users:
                    self._drop()  # a signal handler has closed the last client meanwhile

    def engaged(self) -> bool:
        """Whether this thread is in the middle of a transaction, and keeps all others out."""
        return is_mine(self._mutex) or self.watch.engaged()

    def _transact(self, purpose: Callable[[Database], T]) -> T:
        """Run a transaction, again as often as a signal handler forks within it."""
        while True:
            forks = self._forks
            try:
                result = purpose(self._database or self._open())
                if forks != self._forks:
                    self._check_parent()
                return result
            except Occupied:
                self._check_parent()
                raise
            except BaseException as error:
                self._drop()
                if forks == self._forks or not _undone(error):
                    raise

    def _open(self) -> Database:
        self._check()
        database = self._database = Database(self.path, self._known)
        self._check()  # a signal handler may have forked meanwhile
        self._known, self._opened = database.inode, self._opened + 1
        return database

    def _check(self) -> None:
        """Raise if this file must not be used, or is not in use any more."""
        self._check_parent()
        if self._is_sealed:
            raise sealed(self.path)
        if not self.users:
            raise closed(label_of(self.path))

    def _check_parent(self) -> None:
        """Raise in a child that was forked by a signal handler and has returned from it."""
        if self._pid != os.getpid():
            raise forked(label_of(self.path))

    def _drop(self) -> None:
        """Close the connection, so that the next call finds no trace of what went wrong."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def close(self) -> bool:
        """Close the connection, unless the calling thread is in the middle of using it."""
        with self._mutex:
            if not self._within:
                self._drop()
            return not self._within

    def before_fork(self) -> tuple[bool, bool]:
        """Let no thread open the file until `after_fork_in_parent`, and close its connections,
        also one that the running thread is using.  Answers whether each was possible."""
        if not self._mutex.acquire(timeout=FORK_PATIENCE):
            return False, False
        self._forks += 1
        self._drop()
        return True, close_all(self.path)

    def after_fork_in_parent(self) -> None:
        self._mutex.release()


def _undone(error: BaseException) -> bool:
    """Whether a use failed because its connection was closed in the middle of it: SQLite was
    not asked, and has undone what came before."""
    return isinstance(error.__cause__ or error, sqlite3.ProgrammingError)


class OpenFiles:
    """Every lock file that one process has open."""

    def __init__(self, sealed: Iterable[str] = ()) -> None:
        self.pid, self._mutex = os.getpid(), threading.RLock()
        self._files: dict[str, SharedFile] = {}
        self._held: list[SharedFile] = []
        #: Files that this process and its children must not use; and the files that stayed open
        #: in the last fork, which its child must not use.
        self.sealed, self.left_open = set(sealed), set[str]()

    def enter(self, path: str) -> SharedFile:
        """Count one more user of a file."""
        with self._mutex:
            file = self._files.get(path)
            if file is None:
                file = self._files[path] = SharedFile(path, path in self.sealed)
            file.users += 1
            return file

    def leave(self, file: SharedFile) -> None:
        """Count one user less; the last one closes the file."""
        with self._mutex:
            file.users -= 1
        # Not under the mutex: closing may take as long as a transaction, and the thread that is
        # in that one may want to fork.  Until it is closed, a fork must find it.
        if not file.users and file.close():
            self._forget(file)

    def _forget(self, file: SharedFile) -> None:
        with self._mutex:
            if not file.users and self._files.get(file.path) is file:
                del self._files[file.path]

    def before_fork(self) -> None:
        """Close every file.

        A file that stays open is sealed for the child: SQLite's memory of it is wrong there.
        """
        self._mutex.acquire()
        outcomes = {file: file.before_fork() for file in list(self._files.values())}
        self._held = [file for file, (held, _) in outcomes.items() if held]
        self.left_open = {file.path for file, (_, closed) in outcomes.items() if not closed}

    def after_fork_in_parent(self) -> None:
        for file in self._held:
            file.after_fork_in_parent()
        self._mutex.release()


_open_files = OpenFiles()

#: What a forked child has inherited, and must neither use nor close.
inherited: list[OpenFiles] = []


def open_files() -> OpenFiles:
    """The open files of this process; a forked child begins with none."""
    global _open_files
    if _open_files.pid != os.getpid():
        inherited.append(_open_files)
        _open_files = OpenFiles(_open_files.sealed | _open_files.left_open)
    return _open_files


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: open_files().before_fork(),
        after_in_parent=lambda: open_files().after_fork_in_parent(),
    )
