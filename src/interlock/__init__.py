"""Interlock: locks and coordination across processes, machines and languages.

import interlock                 # threads
from interlock import aio        # asyncio, the same names

il = interlock.connect()         # INTERLOCK_URL, else a SQLite file of this user
with il.lock("orders:42") as hold:
    ship(fence=hold.token)
"""

import importlib as _importlib
import logging as _logging
import typing as _typing

from .api.assertion import assert_held
from .api.barrier import Barrier, Party
from .api.client import Client
from .api.connect import connect
from .api.election import Election, Term
from .api.hold import Hold, Permit, RwHold
from .api.jobs import JobInfo
from .api.latch import Latch
from .api.lock import Lock
from .api.multihold import MultiHold
from .api.multilock import MultiLock, all_of, majority_of
from .api.once import Once
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
from .jobs import Run
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
    "JobInfo",
    "Latch",
    "Lock",
    "LockInfo",
    "LockLost",
    "MultiHold",
    "MultiLock",
    "NotHeld",
    "Observer",
    "Once",
    "OutcomeUnknown",
    "Party",
    "Permit",
    "Run",
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
    "assert_held",
    "connect",
    "majority_of",
    "register_backend",
]

# help() and tracebacks say where users find these, not where they are written.
for _name in set(__all__) - {"Observer"}:  # which is an alias
    globals()[_name].__module__ = "interlock"


if _typing.TYPE_CHECKING:
    from . import fence as fence


def __getattr__(name: str) -> _typing.Any:
    """`interlock.fence` is loaded when it is first used."""
    if name == "fence":
        return _importlib.import_module("interlock.fence")
    raise AttributeError(f"module 'interlock' has no attribute {name!r}")


_logging.getLogger("interlock").addHandler(_logging.NullHandler())
