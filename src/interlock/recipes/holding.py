"""How a client takes a lock and gives it back, for the thread or task that runs.

Theory of operation.  What a thread or task holds already is entered again without asking the
store, if its kind allows that.  Otherwise the acquisition waits in the local queue until it is
its turn, asks the store (`lock.acquire`), and makes a lease of the grant: the lease is written
into what the thread or task holds, and put on the renewal schedule.  A release goes the same way
back: the lease leaves the schedule first, so that the keeper does not call its end a loss; then
the store is told; then the next in the local queue goes on.

Interruptions.  An exception may strike anywhere, a signal handler may run anywhere, and a child
may be forked anywhere.  So an acquisition that fails undoes whatever it may have done, without
knowing how far it got; a release whose outcome is unknown is handed to the keeper; and a child
that finds itself in the middle of its parent's call neither holds nor withdraws anything.
"""

from __future__ import annotations

from typing import Any

from ..errors import (
    AcquireTimeout,
    LockLost,
    NotHeld,
    OutcomeUnknown,
    StoreUnavailable,
    closed,
    forked,
)
from ..events import Granted, Parked, Released
from ..ledger import OtherKind
from ..model import FOREVER, Grant
from ..spi import LockStore
from ..steps import Steps
from . import lock
from .hosts import HoldingSession, Wanted
from .keeper_round import reason_of
from .kinds import raise_mismatch
from .lease import Lease
from .local_queue import Key, wait_turn
from .lock import ANSWER, Acquisition
from .renewal import BY_RELEASE, NEVER
from .rw_lease import RwLease, downgrade
from .self_wait import ITSELF, refuse_a_second, refuse_amid, refuse_too_many

#: Seconds for which a release may wait for the store's answer.
RELEASE = 5.0


# --- taking ---------------------------------------------------------------------------------


def acquire(
    session: HoldingSession,
    wanted: Wanted,
    timeout: float,
    *,
    try_once: bool = False,
    block: bool = False,
    limit: float = NEVER,
    persists: bool = True,
) -> Steps[Any]:
    """Take a lock for the running thread or task, perhaps for a block of its own.

    For `limit` and `persists` see `lock.Acquisition`.
    """
    holds = session.holds.current
    held = holds.get(wanted.key)
    if held is not None and held.depth:  # else it is just being given back
        if wanted.store.reentrant:
            how = block, timeout, try_once, limit, persists
            return _reenter(session, wanted, held, holds, how)
        if timeout == FOREVER:
            return _acquire_more(session, wanted, holds, block)
    return _acquire_anew(session, wanted, holds, block, timeout, try_once, limit, persists)


def _reenter(
    session: HoldingSession, wanted: Wanted, held: Lease, holds: Any, how: tuple[Any, ...]
) -> Steps[Any]:
    """Hold once more; what is lost is taken as `how` says, unless an open block relies on it.

    What counts is done last, without a call behind it: an interruption finds all or nothing.
    """
    try:
        if how[0]:  # it is for a block
            return wanted.enter(held, holds, True)
        hold = wanted.wrap(held)
        held.reenter(wanted.store)
        return hold
    except LockLost as lost:
        if held.blocks:
            raise
        if session.schedule.drop(held):  # the keeper has not noticed yet
            held.lose(lost.cause)
    return (yield from _acquire_anew(session, wanted, holds, *how))


def _acquire_more(session: HoldingSession, wanted: Wanted, holds: Any, block: bool) -> Steps[Any]:
    """Take what is not reentrant once more, however long it takes, unless that is for ever."""
    store, key = wanted.store, wanted.key
    if not store.shared:
        refuse_a_second(key, holds.get(key))
        return (yield from _acquire_anew(session, wanted, holds, block, FOREVER, False))
    try:
        return (yield from _acquire_anew(session, wanted, holds, block, 0.0, True))
    except AcquireTimeout:
        yield from refuse_too_many(store, key, holds.get(key), session.clock)
    except (OutcomeUnknown, StoreUnavailable) as failure:
        if failure.final:
            raise
    return (yield from _acquire_anew(session, wanted, holds, block, FOREVER, False))


def _acquire_anew(
    session: HoldingSession,
    wanted: Wanted,
    holds: Any,
    block: bool,
    timeout: float,
    try_once: bool,
    limit: float = NEVER,
    persists: bool = True,
) -> Steps[Any]:
    """Take a lock that the running thread or task does not hold, or another share of it, unless a
    signal handler or a callback would wait for ever for it."""
    store, key, terms, doing = wanted.store, wanted.key, wanted.terms, holds.doing
    if doing and timeout == FOREVER:
        refuse_amid(key, doing)
    acquisition = session.acquisition(store.for_wait(timeout), key[1], terms, timeout, try_once)
    acquisition.limit, acquisition.persists = limit, persists
    owner, grant = acquisition.owner, None
    generation, queue = session.generation, session.queue
    holds.doing = mine = (*doing, key)
    try:
        queue.acquiring[owner] = acquisition
        if not store.own_places and not queue.enter(key, owner):
            yield from _wait_turn(session, key, acquisition)
        if session.schedule.closed:
            raise closed(session.backend.label)
        acquisition.was_busy = key in session.busy_names and not acquisition.expired
        grant = yield from lock.acquire(acquisition)
        lease = wanted.lease_class(session, store, key, grant, terms, holds.ref)
        lease.wrap = wanted.wrap
        if session.tells_origin:
            lease.origin = session.origin()
        lease.write_down(holds)
        lease.for_block = block
        hold = wanted.enter(lease, holds) if block else wanted.wrap(lease)
        _note_granted(session, lease, acquisition)
        queue.acquiring.pop(owner, None)  # from here on the schedule knows of it
        if generation != session.generation:
            raise forked(session.backend.label)
        return hold
    except BaseException as error:
        yield from _undo(session, wanted, acquisition, grant, holds, error)
        raise
    finally:
        # Nothing is called here: an interruption behind the grant would find a hold of no caller.
        if holds.doing is mine:
            holds.doing = doing
        elif key in holds.doing:  # others are taken beside it
            at = holds.doing.index(key)
            holds.doing = holds.doing[:at] + holds.doing[at + 1 :]


def _undo(
    session: HoldingSession,
    wanted: Wanted,
    acquisition: Acquisition,
    grant: Grant | None,
    holds: Any,
    error: BaseException,
) -> Steps[None]:
    """An acquisition has failed or was interrupted, wherever it was: leave nothing of it."""
    store, key = wanted.store, wanted.key
    mine = holds.get(key)
    if mine is not None and mine.owner == acquisition.owner:
        session.drop(mine)
        wanted.abandon(mine, holds)
    elif mine is not None and isinstance(error, AcquireTimeout) and not store.reentrant:
        error.add_note(ITSELF)
    if grant is not None:
        # Interrupted between the grant and its lease: only we know of it.
        session.owe(store, grant.name, grant.owner, wanted.terms.lease)
    session.queue.acquiring.pop(acquisition.owner, None)
    session.queue.leave(key, acquisition.owner)
    if isinstance(error, OtherKind):
        ends = acquisition.ends
        yield from raise_mismatch(session.backend, store, key[1], error, session.clock, ends)


def _wait_turn(session: HoldingSession, key: Key, acquisition: Acquisition) -> Steps[None]:
    """Wait in the local queue until it is our turn to ask the store.

    A try asks it at once, beside the head, unless the head is known to hold.
    """
    tries = acquisition.expired
    if tries and session.queue.held(key):
        raise (yield from lock.give_up(acquisition, None))
    if tries and not acquisition.store.takes_turns:
        return
    if not tries:
        session.notify(Parked(acquisition.name, acquisition.owner, None, 0.0))
    until = session.clock() + ANSWER if tries else acquisition.deadline
    place = session.queue, key, acquisition.owner, session.local
    if not (yield from wait_turn(*place, until, session.clock, tries)):
        raise (yield from lock.give_up(acquisition, None))


def _note_granted(session: HoldingSession, lease: Lease, acquisition: Acquisition) -> None:
    if session.schedule.add(lease):
        session.keeper.wake()
    if lease.store.shared:
        session.queue.leave(lease.key, lease.owner)  # the next one may find room as well
    if acquisition.parked or acquisition.was_busy:
        session.note_busy(lease.key, acquisition.parked)
    if session.observed:
        waited = session.clock() - acquisition.began
        session.notify(Granted(lease.name, lease.owner, lease.token, waited))


# --- giving back ----------------------------------------------------------------------------


def release(
    session: HoldingSession,
    lease: Lease,
    store: LockStore | None = None,
    until: float | None = None,
) -> Steps[None]:
    """Count one release of a lease; the last one talks to the store.

    `store` is told by a lock that is released: it may be one mode of two.
    """
    counted = lease.depth > 1
    if counted and not lease.leaves(store):
        lease.ensure()
        if isinstance(lease, RwLease) and lease.turns:
            yield from downgrade(session, lease, NEVER if until is None else until)
        return
    # Where it was counted, another thread has given it back meanwhile, and this is the last.
    holds = session.holds.current
    doing = holds.doing
    holds.doing = mine = (*doing, lease.key)
    try:
        if not counted:
            lease.leaves(store)
        stood = yield from _release_last(session, lease, until)
    except (NotHeld, LockLost, GeneratorExit):
        raise
    except (OutcomeUnknown, StoreUnavailable) as failure:
        if lease.depth or lease.inherited:
            raise  # it is not the release that failed, or it is the parent's
        hand_to_keeper(session, lease)
        raise lease.unconfirmed(failure) from failure
    except BaseException:
        hand_to_keeper(session, lease)
        raise
    finally:
        if holds.doing is mine:
            holds.doing = doing
        else:  # others are given back beside it
            holds.done(lease.key)
        session.queue.releasing.pop(lease.owner, None)
    if not stood:
        raise lease.lost_error(lease.cause or BY_RELEASE)
    if session.observed:
        held = session.clock() - lease.acquired
        session.notify(Released(lease.name, lease.owner, lease.token, held))


def _release_last(session: HoldingSession, lease: Lease, until: float | None) -> Steps[bool]:
    """Give the lock back; answers whether the lease stood, as we knew and as the store did.

    A loss that is found here, before the keeper has noticed it, is reported from here.
    """
    schedule, queue = session.schedule, session.queue
    lease.forget()
    queue.releasing[lease.owner] = lease
    kept, now = schedule.drop(lease), session.clock()
    late = now >= lease.until
    if not kept and schedule.closed:
        raise lease.lost_error(lease.cause or "its client was closed")
    if lease.cause is not None and not lease.store.leases_expire:
        raise lease.lost_error(lease.cause)  # the keeper withdraws it
    if session.ordered:
        # The next in the queue may ask right behind our release, and will not overtake it.
        queue.leave(lease.key, lease.owner)
    limit = now + RELEASE if until is None else until
    try:
        released = yield from lock.release(lease.store, lease.grant, limit)
    except (OutcomeUnknown, StoreUnavailable):
        if lease.cause is None and not late:
            raise
        hand_to_keeper(session, lease)
        released = False  # and what is lost is lost, whatever the store says
    queue.leave(lease.key, lease.owner)
    stood = released and not late
    if kept and not stood:
        lease.lose(BY_RELEASE if late else (yield from reason_of(lease, limit, BY_RELEASE)))
    return kept and stood


def hand_to_keeper(session: HoldingSession, lease: Lease) -> None:
    """A release was interrupted somewhere, or not answered: let the keeper withdraw."""
    if lease.depth == 0:
        session.drop(lease)
        session.owe(lease.store, lease.name, lease.owner, lease.lease)
