"""The backend: the ledger's own operations, run in transactions of one SQLite file."""

from __future__ import annotations

from ...ledger import LedgerStores
from ...stores import AsyncLink, Link
from .address import resolved
from .failures import label_of


class SqliteBackend(LedgerStores):
    """See `stores.Backend`.  Nothing is opened, nor made, before it is needed.

    Every operation is one transaction, a renewal of very many holds a few of them.
    """

    def __init__(self, path: str) -> None:
        super().__init__(label_of(path))
        self._path = resolved(path)

    def link(self) -> Link:
        from .blocking import SqliteLink

        return SqliteLink(self._path)

    def alink(self) -> AsyncLink:
        from .aio import SqliteAsyncLink

        return SqliteAsyncLink(self._path)
