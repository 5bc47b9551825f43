"""Interlock: locks and coordination across processes, machines and languages.

import interlock                 # threads
from interlock import aio        # asyncio, the same names

il = interlock.connect()         # INTERLOCK_URL, else the embedded SQLite default
with il.lock("orders:42") as hold:
    ship(fence=hold.token)
"""

import logging as _logging

from .api.bundle import Bundle
from .api.client import Client
from .api.connect import connect
from .api.hold import Hold
from .api.latch import Latch
from .api.lock import Lock
from .api.rwlock import RwLock
from .api.semaphore import Semaphore
from .api.several import Several, all_of, majority_of
from .api.shares import Permit, RwHold
from .errors import (
    AcquireTimeout,
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
from .model import Holder, LockInfo

__version__ = "0.1.0"

__all__ = [
    "AcquireTimeout",
    "Bundle",
    "Client",
    "Hold",
    "Holder",
    "InterlockError",
    "Latch",
    "Lock",
    "LockInfo",
    "LockLost",
    "NotHeld",
    "OutcomeUnknown",
    "Permit",
    "RwHold",
    "RwLock",
    "Semaphore",
    "Several",
    "StaleToken",
    "StoreError",
    "StoreMisconfigured",
    "StoreUnavailable",
    "Unsupported",
    "UsageError",
    "all_of",
    "connect",
    "majority_of",
]

_logging.getLogger("interlock").addHandler(_logging.NullHandler())
