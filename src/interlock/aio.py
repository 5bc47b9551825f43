"""The asyncio names: `from interlock import aio`, then `aio.connect(...)`."""

import importlib as _importlib
import typing as _typing

from .api.barrier import AsyncBarrier as Barrier
from .api.barrier import AsyncParty as Party
from .api.client import AsyncClient as Client
from .api.connect import aconnect as connect
from .api.election import AsyncElection as Election
from .api.election import AsyncTerm as Term
from .api.hold import AsyncHold as Hold
from .api.hold import AsyncPermit as Permit
from .api.hold import AsyncRwHold as RwHold
from .api.latch import AsyncLatch as Latch
from .api.lock import AsyncLock as Lock
from .api.multihold import AsyncMultiHold as MultiHold
from .api.multilock import AsyncMultiLock as MultiLock
from .api.multilock import aall_of as all_of
from .api.multilock import amajority_of as majority_of
from .api.once import AsyncOnce as Once
from .api.rwlock import AsyncRwLock as RwLock
from .api.semaphore import AsyncSemaphore as Semaphore

__all__ = [
    "Barrier",
    "Client",
    "Election",
    "Hold",
    "Latch",
    "Lock",
    "MultiHold",
    "MultiLock",
    "Once",
    "Party",
    "Permit",
    "RwHold",
    "RwLock",
    "Semaphore",
    "Term",
    "all_of",
    "connect",
    "majority_of",
]

# help() and tracebacks say where users find these, and under which name.
for _name in __all__:
    _each = globals()[_name]
    _each.__module__, _each.__name__, _each.__qualname__ = "interlock.aio", _name, _name

if _typing.TYPE_CHECKING:
    from .fence import aio as _fence

    fence = _fence


def __getattr__(name: str) -> _typing.Any:
    """`aio.fence` is loaded when it is first used."""
    if name == "fence":
        return _importlib.import_module("interlock.fence.aio")
    raise AttributeError(f"module 'interlock.aio' has no attribute {name!r}")
