"""The guard beside a file: its token, in a file of its own that is replaced under a lock.

For `report.csv` the newest token is in `report.csv.fence`, and `report.csv.fence.lock` is locked
(flock) from the check until the file is replaced.  The token comes first: a crash between the two
leaves the file as it was, and no older token can follow.
"""

from __future__ import annotations

import os
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias

from ..drive import now
from ..errors import AcquireTimeout, StoreMisconfigured, Unsupported
from ..model import Seconds, checked_timeout
from ..words import given, shown
from .tokens import Token, checked_token, refuse_stale

#: What a file is replaced with: its content, or a function that writes it.
Content: TypeAlias = "bytes | str | Callable[[IO[bytes]], object]"

#: Seconds between two tries to lock, at least and at most.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.05


def check_file(
    path: str | os.PathLike[str],
    token: Token,
    content: Content | None,
    timeout: Seconds | None,
    given_up: Callable[[], bool] = lambda: False,
) -> None:
    """Check a token, and replace the file if it is not stale.

    A caller that has `given_up` waits for the lock of the guard no longer.
    """
    number, write, seconds = checked_token(token), _writer(content), checked_timeout(timeout)
    target = Path(path).resolve()  # so that all names of a file have one guard
    guard = target.with_name(f"{target.name}.fence")
    with _locked(target.with_name(f"{guard.name}.lock"), seconds, given_up):
        newest = _newest(guard)
        refuse_stale(str(target), number, newest)
        if newest != number:
            _replace(guard, lambda file: file.write(b"%d\n" % number))
        if write is not None:
            _replace(target, write)


def _writer(content: Content | None) -> Callable[[IO[bytes]], object] | None:
    if content is None or callable(content):
        return content
    if not isinstance(content, (bytes, str)):
        raise TypeError(
            f"content must be bytes, text or a function that writes, not {given(content)}"
        )
    data = content.encode() if isinstance(content, str) else content
    return lambda file: file.write(data)


def _newest(guard: Path) -> int | None:
    try:
        text = guard.read_bytes()
    except FileNotFoundError:
        return None
    if not text.strip().isdigit():
        raise StoreMisconfigured(
            f"{guard} holds {shown(text)} in place of a token: another program has written it; "
            "write the newest token into it, or remove it while no holder is at work"
        )
    return int(text)


@contextmanager
def _locked(path: Path, timeout: float, given_up: Callable[[], bool]) -> Iterator[None]:
    """Have the lock of a guard to oneself, for as long as the block takes."""
    try:
        import fcntl  # Windows has none
    except ImportError:
        raise Unsupported("fence.file needs a POSIX system, for flock; use fence.sql") from None

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        began, pause = now(), SHORTEST_PAUSE
        while not _try_lock(fcntl.flock, descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            waited = now() - began
            if waited >= timeout or given_up():
                raise AcquireTimeout(str(path), None, waited, timeout)
            time.sleep(min(pause, timeout - waited))
            pause = min(2 * pause, LONGEST_PAUSE)
        yield
    finally:
        # To close it is not enough where a forked child has the descriptor as well.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _try_lock(flock: Callable[[int, int], object], descriptor: int, how: int) -> bool:
    try:
        flock(descriptor, how)
    except BlockingIOError:
        return False
    return True


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a new file, and let it take the place of the old one, at once and for good."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with draft.open("xb") as file:
            with suppress(FileNotFoundError):
                draft.chmod(stat.S_IMODE(path.stat().st_mode))
            write(file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """A new name is on the disk when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
