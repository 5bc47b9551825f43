"""The backend: the ledger's own operations, run in transactions of one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence

from ...ledger import LedgerStores
from ...model import Finding
from ...spi import AsyncLink, Link
from ...steps import Steps, answered
from .doctor import examined
from .errors import label_of
from .url import resolved


class SqliteBackend(LedgerStores):
    """See `spi.Backend`.  The first call opens the file, and makes it if it is missing.

    Every operation is one transaction, a renewal of very many holds a few of them.
    """

    def __init__(self, path: str) -> None:
        super().__init__(label_of(path))
        self._path = resolved(path)

    def examine(self, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
        """See `spi.SelfExamining`.  No transaction: the system is asked, not the file."""
        return answered(examined(self._path, self.label))

    def link(self) -> Link:
        from .link import SqliteLink

        return SqliteLink(self._path)

    def alink(self) -> AsyncLink:
        from .aio import SqliteAsyncLink

        return SqliteAsyncLink(self._path)
