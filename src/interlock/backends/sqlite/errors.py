"""The errors of SQLite and of the file system, as errors of Interlock.

SQLite runs a transaction wholly or not at all, so nearly every failure means "never
executed".  Whether trying again is worth it decides the class: a file that is busy or a disk
that is full may recover by itself, a damaged or a foreign file will not.
"""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from ...errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from ...words import duration
from .transport.rights import obstacle
from .url import is_default, is_machine

#: Another connection has the file locked for a moment.
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}

_UNAVAILABLE = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "its disk reports an error; look at the system's log",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
}

#: Mostly a matter of permissions.
_FORBIDDEN = {
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PERM: "this user may not use it",
}

_MISCONFIGURED = {
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database; choose another path",
    sqlite3.SQLITE_CORRUPT: "it is damaged; stop every process that uses it, then move it away",
}

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

_NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)

# The shared memory beside the file could not grow: the disk is full as well.
_FULL = (sqlite3.SQLITE_IOERR_SHMSIZE,)


class Occupied(Exception):
    """Another process has the file locked for a moment: the same call may succeed soon."""


def from_sqlite(error: sqlite3.Error, path: str) -> StoreError | Occupied:
    """The failure of a transaction that was not executed."""
    code = _primary(error)
    if code in _BUSY:
        return Occupied()
    if _extended(error) == sqlite3.SQLITE_READONLY_DBMOVED:
        return replaced(path)
    if code in _UNAVAILABLE:
        return StoreUnavailable(*_unavailable(path, error))
    if code in _FORBIDDEN:
        return forbidden(path, f"{_FORBIDDEN[code]} ({error})")
    advice = _MISCONFIGURED.get(code, "it does not work as a lock file; choose another path")
    return misconfigured(path, f"{advice} ({error})")


def uncommitted(error: sqlite3.Error, path: str) -> StoreError:
    """The failure of a commit: a full disk rolls it back; after any other error it may stand."""
    if _primary(error) == sqlite3.SQLITE_FULL:
        return StoreUnavailable(*_unavailable(path, error))
    return OutcomeUnknown(
        f"{path} did not confirm a change, which may have been made or not ({error})",
        label_of(path),
    )


def still_busy(path: str, waited: float) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} is busy: another process has kept it locked"
        f"{f' for {duration(waited)}' if waited >= 0.001 else ''}; "
        "look for a stopped process that has the file open",
        label_of(path),
    )


def replaced(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} was deleted or replaced while it was in use, so everything that was held "
        "in it is lost; the next call opens the file anew",
        label_of(path),
    )


def sealed(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} cannot be used by this process: when it was forked, its parent was in the middle "
        "of a call that did not end in time, and SQLite does not survive that; "
        "start it anew (exec, or the method spawn of multiprocessing), or fork again",
        label_of(path),
        final=True,
    )


def estranged(path: str) -> StoreMisconfigured:
    return misconfigured(
        path,
        "another machine has taken it over; a lock file serves the processes of one machine, "
        "on a disk of its own",
    )


def linked(path: str) -> StoreMisconfigured:
    return misconfigured(path, "it is a symbolic link; give the path that it leads to")


def misconfigured(path: str, what: str) -> StoreMisconfigured:
    elsewhere = ""
    if is_default(path):
        elsewhere = (
            "; this is the default file of its user: to keep locks elsewhere, set INTERLOCK_URL "
            "to another store, or XDG_STATE_HOME to another folder"
        )
    return StoreMisconfigured(f"{path} cannot keep locks: {what}{elsewhere}", label_of(path))


def forbidden(path: str, what: str) -> StoreMisconfigured:
    """The error for a file that this process may not use: its owner, and what to do."""
    found = obstacle(path)
    if is_machine(path):
        way_in = f"an administrator lets users in: {admission(path)}"
    elif found:
        way_in = "correct its permissions; to share locks between users, use sqlite:machine"
    else:
        way_in = "check that its folder exists, and the permissions of both"
    return misconfigured(path, f"{what}: {found}; {way_in}" if found else f"{what}; {way_in}")


def admission(path: str) -> str:
    """The commands by which an administrator lets users share a file."""
    return (
        "groupadd --system interlock; "
        f"install -d -m 2770 -g interlock {Path(path).parent}; "
        "and for each user: usermod -aG interlock USER"
    )


def unreachable(path: str, error: OSError) -> StoreError:
    """The failure of the system to open or make the file."""
    why = (error.strerror or str(error)).lower()
    if error.errno in _NO_SPACE:
        return StoreUnavailable(f"{path} cannot keep locks: {why}", label_of(path))
    if error.errno in _NO_RIGHT:
        return forbidden(path, why)
    return misconfigured(path, f"{why}; check the path and its permissions")


def label_of(path: str) -> str:
    """How errors and logs name a file."""
    return f"sqlite://{path}"


def _unavailable(path: str, error: sqlite3.Error) -> tuple[str, str]:
    return f"{path} cannot keep locks: {_UNAVAILABLE[_primary(error)]} ({error})", label_of(path)


def _primary(error: sqlite3.Error) -> int:
    return sqlite3.SQLITE_FULL if _extended(error) in _FULL else _extended(error) & 0xFF


def _extended(error: sqlite3.Error) -> int:
    # Errors of the module itself, such as a wrong use of it, have no code.
    return int(getattr(error, "sqlite_errorcode", 0))
