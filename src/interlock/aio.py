"""The asyncio names: `from interlock import aio`, then `aio.connect(...)`."""

from .api.bundle import AsyncBundle as Bundle
from .api.client import AsyncClient as Client
from .api.connect import aconnect as connect
from .api.hold import AsyncHold as Hold
from .api.latch import AsyncLatch as Latch
from .api.lock import AsyncLock as Lock
from .api.rwlock import AsyncRwLock as RwLock
from .api.semaphore import AsyncSemaphore as Semaphore
from .api.several import AsyncSeveral as Several
from .api.several import aall_of as all_of
from .api.several import amajority_of as majority_of
from .api.shares import AsyncPermit as Permit
from .api.shares import AsyncRwHold as RwHold

__all__ = [
    "Bundle",
    "Client",
    "Hold",
    "Latch",
    "Lock",
    "Permit",
    "RwHold",
    "RwLock",
    "Semaphore",
    "Several",
    "all_of",
    "connect",
    "majority_of",
]
