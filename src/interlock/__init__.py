"""Interlock: locks and coordination across processes, machines and languages.

import interlock                 # threads
from interlock import aio        # asyncio, the same names

il = interlock.connect()         # INTERLOCK_URL, else a SQLite file of this user
with il.lock("orders:42") as hold:
    ship(fence=hold.token)
"""

import logging as _logging

from .api.barrier import Barrier, Party
from .api.client import Client
from .api.connect import connect
from .api.election import Election, Term
from .api.hold import Hold, Permit, RwHold
from .api.latch import Latch
from .api.lock import Lock
from .api.multihold import MultiHold
from .api.multilock import MultiLock, all_of, majority_of
from .api.registry import register_backend
from .api.rwlock import RwLock
from .api.semaphore import Semaphore
from .errors import (
    AcquireTimeout,
    BarrierTimeout,
    InterlockError,
    LockLost,
    NotHeld,
    OutcomeUnknown,
    StaleToken,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    Unsupported,
    UsageError,
)
from .events import Event, Observer
from .model import Finding, Holder, LockInfo

__version__ = "0.1.0"

__all__ = [
    "AcquireTimeout",
    "Barrier",
    "BarrierTimeout",
    "Client",
    "Election",
    "Event",
    "Finding",
    "Hold",
    "Holder",
    "InterlockError",
    "Latch",
    "Lock",
    "LockInfo",
    "LockLost",
    "MultiHold",
    "MultiLock",
    "NotHeld",
    "Observer",
    "OutcomeUnknown",
    "Party",
    "Permit",
    "RwHold",
    "RwLock",
    "Semaphore",
    "StaleToken",
    "StoreError",
    "StoreMisconfigured",
    "StoreUnavailable",
    "Term",
    "Unsupported",
    "UsageError",
    "all_of",
    "connect",
    "majority_of",
    "register_backend",
]

# help() and tracebacks say where users find these, not where they are written.
for _name in set(__all__) - {"Observer"}:  # which is an alias
    globals()[_name].__module__ = "interlock"

_logging.getLogger("interlock").addHandler(_logging.NullHandler())
