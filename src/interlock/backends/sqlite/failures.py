"""What SQLite says when something is wrong, put into one clear sentence.

SQLite runs a transaction wholly or not at all, so nearly every failure means "never
executed".  Whether trying again is worth it decides the class: a file that is busy or a disk
that is full may recover by themselves, a file that is damaged or not ours will not.
"""

from __future__ import annotations

import errno
import sqlite3

from ...errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable

#: Another connection stands in the way for a moment.
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}

_UNAVAILABLE = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "its disk does not work as it should; look at the system's log",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
}

_MISCONFIGURED = {
    sqlite3.SQLITE_READONLY: "it is read-only; make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; see that its folder exists and is writable",
    sqlite3.SQLITE_PERM: "this user may not use it; see to the permissions of file and folder",
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database; choose another path",
    sqlite3.SQLITE_CORRUPT: "it is damaged; stop all who use it, then move it away",
}

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

# The shared memory beside the file could not grow: the disk is full as well.
_FULL = (sqlite3.SQLITE_IOERR_SHMSIZE,)


class Occupied(Exception):
    """Another process stands in the way for a moment: the same may succeed soon."""


def from_sqlite(error: sqlite3.Error, path: str) -> StoreError | Occupied:
    """The failure of a transaction that was not executed."""
    code = _primary(error)
    if code in _BUSY:
        return Occupied()
    if _extended(error) == sqlite3.SQLITE_READONLY_DBMOVED:
        return replaced(path)
    if code in _UNAVAILABLE:
        return StoreUnavailable(*_unavailable(path, error))
    advice = _MISCONFIGURED.get(code, "it does not work as a lock file; choose another path")
    return misconfigured(path, f"{advice} ({error})")


def uncommitted(error: sqlite3.Error, path: str) -> StoreError:
    """The failure of a commit: a full disk rolls back, of anything else we cannot be sure."""
    if _primary(error) == sqlite3.SQLITE_FULL:
        return StoreUnavailable(*_unavailable(path, error))
    return OutcomeUnknown(
        f"{path} did not confirm a change, and may have kept it or not ({error})", label_of(path)
    )


def still_busy(path: str, waited: float) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} is busy: another process has kept it locked for {waited:.3g} s; "
        "look for a stopped process that has the file open",
        label_of(path),
    )


def replaced(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} was deleted or replaced while it was in use, so everything that was held "
        "in it is void; it is opened anew",
        label_of(path),
    )


def interrupted(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} is in the middle of another call of this very thread, which a signal handler "
        "or a finalizer has interrupted; let them set a flag, and act on it elsewhere",
        label_of(path),
    )


def estranged(path: str) -> StoreMisconfigured:
    return misconfigured(
        path,
        "another machine has taken it over; a lock file serves the processes of one machine, "
        "on a disk of its own",
    )


def misconfigured(path: str, what: str) -> StoreMisconfigured:
    return StoreMisconfigured(f"{path} cannot keep locks: {what}", label_of(path))


def unreachable(path: str, error: OSError) -> StoreError:
    """The failure of the system to open or make the file."""
    why = (error.strerror or str(error)).lower()
    if error.errno in _NO_SPACE:
        return StoreUnavailable(f"{path} cannot keep locks: {why}", label_of(path))
    return misconfigured(path, f"{why}; see to the path and to its permissions")


def label_of(path: str) -> str:
    """How to name a file to people."""
    return f"sqlite://{path}"


def _unavailable(path: str, error: sqlite3.Error) -> tuple[str, str]:
    return f"{path} cannot keep locks: {_UNAVAILABLE[_primary(error)]} ({error})", label_of(path)


def _primary(error: sqlite3.Error) -> int:
    return sqlite3.SQLITE_FULL if _extended(error) in _FULL else _extended(error) & 0xFF


def _extended(error: sqlite3.Error) -> int:
    # Errors of the module itself, such as a wrong use of it, have no code.
    return int(getattr(error, "sqlite_errorcode", 0))
