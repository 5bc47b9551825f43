"""How a block is left: what it holds is given back, whatever has ended it."""

from __future__ import annotations

from ..errors import LockLost, NotHeld, StoreError
from ..spi import LockStore
from ..steps import Steps, answered
from .holding import release
from .hosts import HoldingSession
from .lease import Lease


def leave_block(
    session: HoldingSession,
    lease: Lease,
    error: BaseException | None,
    store: LockStore | None = None,
) -> Steps[None]:
    """Leave a block: release, but never hide the exception that ends it.

    A forked child passes through its parent's block without a trace.
    """
    if lease.generation != session.generation:
        return answered(None)
    lost = lease.exit_block(error)
    if error is None:
        return release(session, lease, store)
    return _release_amid(session, lease, error, lost, store)


def _release_amid(
    session: HoldingSession,
    lease: Lease,
    error: BaseException,
    lost: LockLost | None,
    store: LockStore | None,
) -> Steps[None]:
    try:
        yield from release(session, lease, store)
    except (LockLost, NotHeld, StoreError) as failure:
        error.add_note(str(failure))
    if lost is not None:
        raise lost from error
