"""The backend: the ledger's own operations, run under the mutex of a store in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ...ledger import LedgerStores
from ...spi import AsyncLink, Link
from .link import MemoryLink
from .transport.memory_store import MemoryStore


class MemoryBackend(LedgerStores):
    """See `spi.Backend`.  Every backend of one name in a process has the same store."""

    stores: ClassVar[dict[str, MemoryStore]] = {}

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        super().__init__(f"memory://{name}")
        self.store = self.stores.setdefault(name, MemoryStore(clock))

    def link(self) -> Link:
        return MemoryLink(self.store)

    def alink(self) -> AsyncLink:
        from .aio import MemoryAsyncLink

        return MemoryAsyncLink(self.store)
