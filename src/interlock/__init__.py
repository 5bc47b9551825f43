"""Interlock: locks and coordination across processes, machines and languages.

import interlock                 # threads
from interlock import aio        # asyncio, the same names

il = interlock.connect()         # INTERLOCK_URL, else the embedded SQLite default
with il.lock("orders:42") as hold:
    ship(fence=hold.token)
"""

import logging as _logging

from .api.client import Client
from .api.connect import connect
from .api.hold import Hold
from .api.lock import Lock
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
    "Client",
    "Hold",
    "Holder",
    "InterlockError",
    "Lock",
    "LockInfo",
    "LockLost",
    "NotHeld",
    "OutcomeUnknown",
    "StaleToken",
    "StoreError",
    "StoreMisconfigured",
    "StoreUnavailable",
    "Unsupported",
    "UsageError",
    "connect",
]

_logging.getLogger("interlock").addHandler(_logging.NullHandler())
