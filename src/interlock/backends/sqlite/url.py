"""From a URL to the path of a database file.  Pure, but for the environment."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ...errors import Unsupported, UsageError

#: `sqlite:machine`: one file for the users of a machine whom an administrator lets in.
MACHINE = "/var/lib/interlock/locks.db"

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def path_of(url: str) -> str:
    """Read `sqlite:///path`; a bare `sqlite:` is the default file of this user, and
    `sqlite:machine` the one that users share."""
    _check_system()
    if _CONTROL.search(url):
        raise UsageError("a sqlite: URL must not contain control characters; write %0A for one")
    _check_no_memory(url)
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise UsageError(
            "a sqlite: URL takes no parameters; a ? or # in the path is written %3F or %23"
        )
    if parts.netloc:
        raise UsageError(
            f"a sqlite: URL has no host, but this one names {parts.netloc!r}; "
            "write three slashes and the absolute path: sqlite:///var/lib/app/locks.db, "
            "or sqlite:machine for the file that the users of a machine share"
        )
    if parts.path == "machine":
        return MACHINE
    return _checked(unquote(parts.path, errors="surrogateescape")) or default_path()


def _check_system() -> None:
    try:
        import fcntl  # noqa: F401
    except ImportError:
        raise Unsupported(
            "sqlite: needs a POSIX system, such as Linux or macOS, and this is none; set "
            "INTERLOCK_URL, or give connect() a URL: redis:// or zk:// for a server that "
            "processes share, memory:// for the threads and tasks of one process"
        ) from None


def _check_no_memory(url: str) -> None:
    """Refuse SQLite's names for databases in memory: here they would be files in odd places."""
    if ":memory:" in unquote(url) or "mode=memory" in url:
        raise UsageError(
            "a sqlite: URL names a file, which processes share, and :memory: is none; "
            "for locks in the memory of one process use memory://"
        )


def _checked(path: str) -> str:
    if "\0" in path:
        raise UsageError("the path in a sqlite: URL must not contain NUL")
    if path and not path.startswith("/"):
        raise UsageError(
            f"the path in a sqlite: URL is absolute, but {path!r} is not; "
            "write sqlite:///var/lib/app/locks.db"
        )
    # POSIX leaves the meaning of two leading slashes open; ours is one.
    return "/" + posixpath.normpath(path).lstrip("/") if path.strip("/") else ""


def resolved(path: str) -> str:
    """The same file under the one name by which all of its users know it.

    Folders may be links; the file itself may not, so it is left as it is.
    """
    folder, file = os.path.split(path)
    return f"{os.path.realpath(folder).rstrip('/')}/{file}"


def is_default(path: str) -> bool:
    """Whether a resolved path is the default file of this user."""
    try:
        return path == resolved(default_path())
    except UsageError:
        return False  # there is no default


def is_machine(path: str) -> bool:
    """Whether a resolved path is the file that the users of this machine share."""
    return path == resolved(MACHINE)


def default_path() -> str:
    """The file of a user who did not choose one."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rules say that a relative path there is to be ignored.
    if not state.startswith("/"):
        state = f"{_home()}/.local/state"
    return posixpath.normpath(f"{state}/interlock/locks.db")


def _home() -> str:
    try:
        home = str(Path.home())
    except RuntimeError:
        home = ""
    if not home.startswith("/"):
        raise UsageError(
            "this user has no home directory for the default file of locks; set INTERLOCK_URL "
            "to another store, such as sqlite:///var/lib/app/locks.db or redis://host, or "
            "XDG_STATE_HOME to a folder"
        )
    return home
