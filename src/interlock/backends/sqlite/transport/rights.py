"""Permissions: which file or folder keeps this process out, its owner and its mode."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

#: What SQLite keeps beside the file.
COMPANIONS = ("-wal", "-shm")

#: A process may have taken on the rights of another user for a while.
_EFFECTIVE = os.access in os.supports_effective_ids


def user(uid: int) -> str:
    """How errors and logs name a user."""
    try:
        import pwd  # Windows has none

        return f"user {pwd.getpwuid(uid).pw_name} (uid {uid})"
    except (ImportError, KeyError):
        return f"uid {uid}"


def obstacle(path: str) -> str | None:
    """What keeps this process from using a lock file; None if no permission does."""
    for place, needed in _needed(path):
        if _there(place) and not os.access(place, needed, effective_ids=_EFFECTIVE):
            return _described(place, needed, path)
    return None


def _needed(path: str) -> Iterator[tuple[Path, int]]:
    """What this process must have access to: the folders, the file, and its companions."""
    file = Path(path)
    for each in reversed(file.parents):
        yield each, os.X_OK
    for name in (path, *(path + suffix for suffix in COMPANIONS)):
        yield Path(name), os.R_OK | os.W_OK
    yield next(each for each in file.parents if _there(each)), os.W_OK | os.X_OK


def _there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:  # it lies behind what may not be entered
        return False


def _described(place: Path, needed: int, path: str) -> str:
    found = place.stat()
    what = "it" if str(place) == path else str(place)
    if stat.S_ISDIR(found.st_mode):
        what = f"the folder {place}"
    if needed & os.W_OK and os.statvfs(place).f_flag & os.ST_RDONLY:
        return f"{what} is on a read-only file system"
    return (
        f"{what} belongs to {user(found.st_uid)} and has mode {stat.S_IMODE(found.st_mode):04o}, "
        f"and this process runs as {user(os.geteuid())}"
    )
