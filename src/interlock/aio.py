"""The asyncio names: `from interlock import aio`, then `aio.connect(...)`."""

from .api.client import AsyncClient as Client
from .api.connect import aconnect as connect
from .api.hold import AsyncHold as Hold
from .api.lock import AsyncLock as Lock

__all__ = ["Client", "Hold", "Lock", "connect"]
