"""How a party enters a barrier, leaves it with the others, or goes without them.

Theory of operation.  To enter is an acquisition (`holding.acquire`): it is granted once all
parties are there, and inside the party has a lease, which the keeper renews.  To leave is another
one, by the same owner, whose store answers once all parties are done (`BarrierStore.leaving`);
meanwhile its own questions keep it, and not the keeper.  Whatever ends a wait early (a timeout, an
error, a cancellation) withdraws the party, so that the others do not wait for it; a block that
ends with an exception does not wait either.
"""

from __future__ import annotations

from typing import Any, cast

from ..errors import AcquireTimeout, BarrierTimeout, InterlockError, LockLost, StoreError
from ..events import Released
from ..model import Terms
from ..spi import BarrierStore
from ..steps import Steps, answered
from . import blocks, holding, lock
from .hosts import HoldingSession, Wanted
from .keeper_round import reason_of
from .lease import Lease
from .lock import ANSWER, CHANCE, GRACE, Acquisition
from .renewal import BY_RELEASE


def enter(
    session: HoldingSession, wanted: Wanted, timeout: float, block: bool = False
) -> Steps[Any]:
    """Wait until all parties are there; answers what the party has in hand.

    Cost: that of `lock.acquire`; after a timeout one round trip more.
    """
    began = session.clock()
    try:
        return (yield from holding.acquire(session, wanted, timeout, block=block))
    except AcquireTimeout as late:
        store, name = cast("BarrierStore", wanted.store), wanted.key[1]
        there = yield from _count(session, store, name, ("waits",), began + timeout)
        raise _timeout(name, store, there + 1, late, leaving=False) from None


def meet(session: HoldingSession, wanted: Wanted, timeout: float) -> Steps[None]:
    """Wait until all parties are there, and go: each by itself."""
    party = yield from enter(session, wanted, timeout)
    try:
        yield from holding.release(session, party._lease)
    except (LockLost, StoreError):
        pass  # all were there; and the keeper takes out what is left of the party


def leave(session: HoldingSession, lease: Lease, timeout: float) -> Steps[None]:
    """Wait until all parties are done, and go.

    Raises LockLost when the lease had ended before, and NotHeld when the party has gone.
    """
    holds = session.holds.current
    holds.doing = (*holds.doing, lease.key)
    try:
        lease.leaves()
        yield from _leave_inside(session, lease, timeout)
    except (InterlockError, GeneratorExit):
        raise
    except BaseException:
        holding.hand_to_keeper(session, lease)
        raise
    finally:
        holds.done(lease.key)


def _leave_inside(session: HoldingSession, lease: Lease, timeout: float) -> Steps[None]:
    lease.forget()
    if not session.schedule.drop(lease) or lease.cause is not None:
        raise lease.lost_error(lease.cause or "its client was closed")
    if session.clock() >= lease.until:
        session.owe(lease.store, lease.name, lease.owner, lease.lease)
        raise _lost(lease, BY_RELEASE)
    leaving = _leaving(session, lease, timeout)
    grant = yield from _wait_for_others(session, leaving, lease)
    if not grant and not leaving.parked and not leaving.unanswered:
        raise _lost(lease, (yield from reason_of(lease, session.clock() + ANSWER, BY_RELEASE)))
    if lease.grant.unanswered or leaving.unanswered:
        # A question to enter may still be on its way.
        yield from lease.store.withdraw(lease.name, lease.owner, session.clock() + ANSWER)
    if session.observed:
        held = session.clock() - lease.acquired
        session.notify(Released(lease.name, lease.owner, lease.token, held))


def _lost(lease: Lease, cause: str) -> LockLost:
    lease.lose(cause)
    return lease.lost_error(cause)


def _leaving(session: HoldingSession, lease: Lease, timeout: float) -> Acquisition:
    """The acquisition by which a party leaves: its owner is that by which it came."""
    store = cast("BarrierStore", lease.store).leaving.for_wait(timeout)
    leaving = session.acquisition(store, lease.name, Terms(lease.lease), timeout, False)
    leaving.owner = lease.owner
    # Most parties have to wait, so listen first; and so one that was told to wait has parked.
    leaving.was_busy = not leaving.expired
    return leaving


def _wait_for_others(session: HoldingSession, leaving: Acquisition, lease: Lease) -> Steps[int]:
    waiting = session.queue.acquiring
    try:
        waiting[leaving.owner] = leaving
        return (yield from lock.acquire(leaving)).token
    except AcquireTimeout as late:
        store = cast("BarrierStore", lease.store)
        inside = yield from _count(session, store, lease.name, ("inside",), leaving.deadline)
        raise _timeout(lease.name, store, inside, late, leaving=True) from None
    finally:
        waiting.pop(leaving.owner, None)


def leave_block(
    session: HoldingSession, lease: Lease, error: BaseException | None, timeout: float
) -> Steps[None]:
    """Leave a block: with the others, or at once if an exception ends it.

    A forked child passes through its parent's block without a trace.
    """
    if lease.generation != session.generation:
        return answered(None)
    if error is not None:
        return blocks.leave_block(session, lease, error)
    lease.exit_block(None)
    return leave(session, lease, timeout)


# --- timeouts -----------------------------------------------------------------------------------


def _timeout(
    name: str, store: BarrierStore, there: int, late: AcquireTimeout, leaving: bool
) -> BarrierTimeout:
    return BarrierTimeout(name, store.parties or 0, there, late.waited, late.timeout, leaving)


def _count(
    session: HoldingSession,
    store: BarrierStore,
    name: str,
    modes: tuple[str, ...],
    deadline: float,
) -> Steps[int]:
    """How many parties do this, for an error: it must not hold up its caller."""
    now = session.clock()
    until = max(min(now + ANSWER, deadline + GRACE), now + CHANCE)
    try:
        info = yield from store.look(name, until)
    except StoreError:
        return 0
    return sum(each.mode in modes for each in (() if info is None else info.holders))
