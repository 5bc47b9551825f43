"""The exit codes: flock's habits, with the numbers of sysexits.h."""

from __future__ import annotations

from ..errors import AcquireTimeout, InterlockError, LockLost, StoreError, StoreMisconfigured

OK, NO = 0, 1
USAGE = 64
UNAVAILABLE = 69
BUSY = 75
MISCONFIGURED = 78
LOST = 79
CANNOT_EXECUTE, NOT_FOUND = 126, 127
SIGNALLED = 128

#: For the pages, in this order.
MEANINGS = (
    ("0", "done; of `run`: the command ended with 0"),
    ("1", "`show` and `revoke`: NAME is free; `doctor`: something serious; `demo`: it failed"),
    (str(USAGE), "the command line itself is wrong"),
    (str(UNAVAILABLE), "the store is out of reach, or its answer did not come"),
    (str(BUSY), "busy: not free at once (`-n`), or not in time (`-w`); `-E` says another code"),
    (str(MISCONFIGURED), "the store refuses: rights, settings, or NAME is in use as another kind"),
    (str(LOST), "`run`: the lock was lost, so the command was stopped (or had just ended)"),
    (str(CANNOT_EXECUTE), "`run`: the command was found, and cannot be executed"),
    (str(NOT_FOUND), "`run`: the command was not found"),
    ("128 + n", "a signal of number n has ended the command, or the waiting"),
    ("other", "`run`: the exit code of the command"),
)


def of_error(error: InterlockError) -> int:
    """The exit code that an error means."""
    if isinstance(error, AcquireTimeout):
        return BUSY
    if isinstance(error, LockLost):
        return LOST
    if isinstance(error, StoreMisconfigured):
        return MISCONFIGURED
    return UNAVAILABLE if isinstance(error, StoreError) else USAGE


def of_status(code: int) -> int:
    """The exit code for what `os.waitstatus_to_exitcode` says of a command."""
    return code if code >= 0 else SIGNALLED - code
