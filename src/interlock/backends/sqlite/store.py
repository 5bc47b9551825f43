"""The backend: the ledger's own operations, run in transactions of one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import StoreError
from ...ledger import LedgerDirectory, LedgerLocks, renew
from ...steps import Call, Steps, together
from ...stores import AsyncLink, Link
from .address import resolved
from .failures import label_of

#: Holds in one renewal: long enough to be cheap, short enough to let others in.
BATCH = 250


class SqliteLocks(LedgerLocks):
    """See `stores.LockStore`.  Every operation is one transaction, a renewal one or more."""

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        batches = [holds[start : start + BATCH] for start in range(0, len(holds), BATCH)]
        calls = [Call(renew, (), (self.kind, lease, *batch), until) for batch in batches]
        replies = yield from together(calls)
        answers: list[bool | StoreError] = []
        for batch, reply in zip(batches, replies, strict=True):
            answers += [reply] * len(batch) if isinstance(reply, StoreError) else reply
        return answers


class SqliteBackend:
    """See `stores.Backend`.  Nothing is opened, nor made, before it is needed."""

    def __init__(self, path: str) -> None:
        self._path = resolved(path)
        self.label = label_of(path)
        self.locks = SqliteLocks("lock", True, self.label)
        self.mutexes = SqliteLocks("mutex", False, self.label)
        self.directory = LedgerDirectory()

    def link(self) -> Link:
        from .blocking import SqliteLink

        return SqliteLink(self._path)

    def alink(self) -> AsyncLink:
        from .aio import SqliteAsyncLink

        return SqliteAsyncLink(self._path)
