"""How a lock file is made: in whose folder, and with which mode.

Of several processes one makes it, alone in the folder, after it has removed what a deleted
predecessor left beside it.  A file is for its user alone, in the default folder or in
one that the user has chosen.  Only the file of the whole machine is for a group, the one of
its folder; the members of that group trust each other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from ..errors import admission, linked, misconfigured
from ..url import is_default, is_machine
from .rights import COMPANIONS

#: Device and number of a file.
Inode: TypeAlias = tuple[int, int]

#: What the file of the machine is called until it is ready.
DRAFT = "-new"

#: What the mode of the machine's folder must have, and must not: files that are made in it
#: belong to its group; and a user who can read the folder can lock it and block the making.
SHARED, CLOSED = stat.S_ISGID | stat.S_IRWXG, stat.S_IRWXO


def prepare_file(path: str) -> Inode:
    """Make the file if it is missing; its device and inode."""
    if is_default(path):
        _prepare_folder(path)
    elif is_machine(path):
        _check_folder(path)
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        _make(path)
        found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise linked(path)
    if not stat.S_ISREG(found.st_mode):
        raise misconfigured(path, "it is not a file; choose another path")
    return found.st_dev, found.st_ino


def _prepare_folder(path: str) -> None:
    """Make the default folder, which is its user's alone."""
    folder = Path(path).parent
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_uid != os.geteuid():
        raise misconfigured(
            path, f"others may write in its folder; make it yours alone (chmod 700 {folder})"
        )


def _check_folder(path: str) -> None:
    """Refuse a folder that an administrator has not made for a group."""
    folder = Path(path).parent
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        raise misconfigured(
            path, f"its folder is missing; an administrator makes it: {admission(path)}"
        ) from None
    if mode & SHARED != SHARED or mode & CLOSED:
        raise misconfigured(
            path,
            f"its folder has mode {stat.S_IMODE(mode):04o}, but must have 2770, for a group "
            f"and not for other users; an administrator makes it so: {admission(path)}",
        )


def _make(path: str) -> None:
    """Make an empty file; of several processes one makes it, alone in the folder."""
    import fcntl  # where there is none, `url` has refused the URL

    folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.lexists(path):
            _remove(path, COMPANIONS)
            if is_machine(path):
                _make_for_group(path)
            else:
                os.close(_made(path))
    finally:
        # A child that a signal handler has forked meanwhile has the descriptor too: unlocking
        # unlocks for both.
        fcntl.flock(folder, fcntl.LOCK_UN)
        os.close(folder)


def _make_for_group(path: str) -> None:
    """Neither the umask nor a crash may leave a file that only its maker can use, so it gets
    its name when it has its mode.  SQLite gives its companions the mode of the file."""
    draft = Path(path + DRAFT)
    _remove(path, (DRAFT,))
    file = _made(draft)
    try:
        os.fchmod(file, 0o660)
    finally:
        os.close(file)
    draft.rename(path)


def _made(path: str | Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _remove(path: str, suffixes: Iterable[str]) -> None:
    """Remove the companions of a deleted file, which must not become those of the new one."""
    for suffix in suffixes:
        Path(path + suffix).unlink(missing_ok=True)
