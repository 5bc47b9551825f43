"""What is done once: a run without a schedule, remembered under a key.

A key is a job with one tick, 0.  Its run is claimed as a tick is, under a lock, before it begins.
"""

from __future__ import annotations

from collections.abc import Collection

from ..errors import AcquireTimeout, LockLost, StoreError, UsageError
from ..model import FOREVER, Seconds, as_seconds, spelled
from ..steps import Steps
from ..words import shown
from .claims import Begun, Claimant, Settled, conclude, history_of, settled, take
from .history import DONE, FAILED, LOST, RUNNING, STOPPED, Rules, Run

#: What the names of its locks and registers start with.
PREFIX = "once:"

#: Its tick.
TICK = 0

#: Seconds for which it is remembered that it is being done.
KEPT = 365 * 86_400.0


def rules(retry_failed: bool, retry_dead: bool) -> Rules:
    """After which ends of an earlier run it is done again."""
    again: Collection[str] = {
        *((FAILED,) if retry_failed else ()),
        *((RUNNING, LOST, STOPPED) if retry_dead else ()),
    }
    return Rules(frozenset(again), deaths=1_000_000)


def checked_memory(remember: Seconds | str | None) -> float:
    """For how many seconds it is remembered that something was done; None is for ever."""
    if remember is None:
        return FOREVER
    seconds = as_seconds("remember", spelled("remember", remember))
    if seconds <= 0:
        raise UsageError(f"remember must be positive, or None for ever, not {shown(remember)}")
    return seconds


def enter(claimant: Claimant, timeout: float) -> Steps[Begun | Run]:
    """Claim it, or tell how it was done.  One round trip where it was; otherwise four.

    While another client does it, this one waits for the end for `timeout` seconds, and is told
    that it is still running after that.
    """
    until = claimant.clock() + timeout
    history = yield from history_of(claimant)
    run = settled(claimant, history, TICK)
    if run is not None and run.state != RUNNING:
        return run
    try:
        taken = yield from take(claimant, TICK, max(0.0, until - claimant.clock()), lambda: TICK)
    except AcquireTimeout:
        return (yield from history_of(claimant)).run_of(TICK) or Run(claimant.name, RUNNING, 0.0)
    assert taken is not None  # nothing stops it
    return taken.run if isinstance(taken, Settled) else taken


def leave(
    claimant: Claimant, begun: Begun, error: BaseException | None, remember: float, took: float
) -> Steps[None]:
    """Write down how it ended, and give the lock back.  Three round trips.

    Raises LockLost when the lease ended before: another client may have done it again.
    """
    run = _ended(begun, error, took)
    try:
        yield from conclude(claimant, run, remember)
    except StoreError as failure:
        if error is None:
            raise
        error.add_note(f"how {claimant.name!r} ended could not be written down: {failure}")
    finally:
        yield from claimant.release(begun.hold)
    if error is None and run.state == LOST:
        begun.hold.ensure()


def _ended(begun: Begun, error: BaseException | None, took: float) -> Run:
    if begun.hold.lost or isinstance(error, LockLost):
        return begun.run.ended(LOST, took, "its lock was lost")
    if error is None:
        return begun.run.ended(DONE, took)
    state = FAILED if isinstance(error, Exception) else STOPPED
    return begun.run.ended(state, took, f"{type(error).__name__}: {error}")
