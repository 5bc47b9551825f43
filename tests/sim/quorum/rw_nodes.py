"""A node that keeps a read/write lock, in Python: what the scripts say in Lua."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from interlock.backends.redis.rwlocks import WRITE
from interlock.steps import Call

from .nodes import Records, SimNode


@dataclass
class Reading:
    """The hold of a reader: until when it stands, and the attempt that was granted."""

    until: float
    attempt: int


@dataclass
class RwRecords(Records):
    """What a node knows; its writer is the `holder`."""

    readers: dict[str, Reading] = field(default_factory=dict)
    #: Until when the mark of each writer that waits stands.
    marks: dict[str, float] = field(default_factory=dict)


class SimRwNode(SimNode):
    """One node of a read/write lock."""

    keeps = RwRecords
    records: RwRecords

    def execute(self, request: Call) -> Any:
        records = self.records
        for readers in [each for each, how in records.readers.items() if how.until <= self._now]:
            del records.readers[readers]
        records.marks = {each: until for each, until in records.marks.items() if until > self._now}
        return super().execute(request)

    def _late(self, granted: int, attempt: int | None) -> bool:
        """Whether a later attempt than this one was granted."""
        return self._rules.attempts and attempt is not None and granted > attempt

    def _busy(self, holder: str, until: float) -> list[Any]:
        return [0, *self._head, holder, 1000.0 * (until - self._now)]

    def _read_attempt(
        self,
        owner: str,
        lease_ms: int,
        attempt: int,
        proposal: int,
        longest_ms: int,
        guarded: int,
    ) -> list[Any]:
        records = self.records
        if (refused := self._refused(owner, attempt, guarded)) is not None:
            return refused
        mine = records.readers.get(owner)
        if mine is not None and self._late(mine.attempt, attempt):
            return [2, *self._head]
        if records.holder is not None:
            return self._busy(records.holder + WRITE, records.until)
        if records.marks and mine is None:
            return self._busy(*min(records.marks.items(), key=lambda mark: mark[1]))
        self._read(owner, lease_ms, attempt)
        return self._granted(proposal, longest_ms)

    def _read(self, owner: str, lease_ms: int, attempt: int) -> None:
        self._check_gone(owner)
        self.records.readers[owner] = Reading(self._now + lease_ms / 1000, attempt)

    def _write_attempt(
        self,
        owner: str,
        lease_ms: int,
        attempt: int,
        proposal: int,
        mark_ms: int,
        tag: str,
        longest_ms: int,
        guarded: int,
    ) -> list[Any]:
        records = self.records
        if (refused := self._refused(owner, attempt, guarded)) is not None:
            return refused
        if self._late(self._attempt_of(owner), attempt):
            return [2, *self._head]
        if records.holder != owner and (records.holder or records.readers):
            if mark_ms and self._rules.marks:
                records.marks[owner] = self._now + mark_ms / 1000
            if records.holder is not None:
                return self._busy(records.holder + WRITE, records.until)
            reader, how = next(iter(records.readers.items()))
            return self._busy(reader, how.until)
        records.marks.pop(owner, None)
        records.attempt = attempt
        self._lock(owner, lease_ms)
        return self._granted(proposal, longest_ms)

    def _attempt_of(self, owner: str) -> int:
        """The attempt of an owner that was granted; 0 when it does not hold."""
        if self.records.holder == owner:
            return self.records.attempt
        mine = self.records.readers.get(owner)
        return 0 if mine is None else mine.attempt

    def _rw_raise(self, owner: str, token: int) -> list[Any]:
        return self._raised(self._holds(owner), token)

    def _holds(self, owner: str) -> bool:
        return owner == self.records.holder or owner in self.records.readers

    def _rw_release(
        self, owner: str, tag: str, tomb_ms: int, reason: str, attempt: int | None = None
    ) -> list[Any]:
        records = self.records
        self._bury(owner, attempt)
        if attempt is None:
            records.marks.pop(owner, None)
        if not self._holds(owner) or self._late(self._attempt_of(owner), attempt):
            return [0]
        if records.holder == owner:
            records.holder = None
            if attempt is None and self._rules.marks_taken_away:
                records.marks.clear()
        records.readers.pop(owner, None)
        return [1]

    def _rw_renew(
        self, lease_ms: int, attempt: int, named: str, longest_ms: int, guarded: int
    ) -> list[Any]:
        records, owner, rules = self.records, named.removesuffix(WRITE), self._rules
        reads = owner == named or bool(records.readers)
        if not self._holds(owner):
            if not self._votes_anew(owner, named, guarded):
                return [1, 0]
            reads = reads or rules.writers_heal_as_readers
        number = max(attempt, self._attempt_of(owner)) if rules.renewals_numbered else 0
        if reads:
            records.holder = None if records.holder == owner else records.holder
            self._read(owner, lease_ms, number or self._attempt_of(owner))
        else:
            records.attempt = number or records.attempt
            self._lock(owner, lease_ms)
        self._keep_beside(longest_ms)
        return [1, 1]

    def _votes_anew(self, owner: str, named: str, guarded: int) -> bool:
        """Whether a vote that was lost, or never given, is given."""
        rules, records = self._rules, self.records
        if self._guarded(guarded) or self._buried(owner, float("inf")):
            return False
        if named == owner:
            return records.holder is None or rules.readers_heal_beside_a_writer
        return records.holder is None and (
            not records.readers or rules.writers_heal_beside_readers
        )

    def _rw_downgrade(self, owner: str, lease_ms: int, attempt: int, channel: str) -> list[Any]:
        if not self._holds(owner):
            return [0]
        if self.records.holder == owner:
            self.records.holder = None
            number = attempt
        else:
            number = max(attempt, self._attempt_of(owner))
        self._read(owner, lease_ms, number)
        return [1]
