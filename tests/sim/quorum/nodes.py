"""A node of a quorum in Python: what the scripts say in Lua, on a clock that a test moves.

Each rule that matters can be broken, to see it caught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from interlock.steps import Call
from tests.support.sim import Violation

#: How far beyond the clock a proposal counts, in microseconds.
SLACK = 1_000_000


@dataclass(frozen=True)
class Rules:
    """What a node keeps to."""

    tombstones: bool = True
    attempts: bool = True
    renewals_numbered: bool = True
    clock_floor: bool = True
    capped: bool = True
    raise_checked: bool = True
    guard_heals: bool = False
    guard: bool = True
    # --- of readers and writers ---
    #: A renewal gives a lost vote to a reader only where none writes, to a writer only where
    #: nothing is held, and to each as what it is.
    readers_heal_beside_a_writer: bool = False
    writers_heal_beside_readers: bool = False
    writers_heal_as_readers: bool = False
    #: A writer that waits leaves a mark, and one that gives the lock back takes away all.
    marks: bool = True
    marks_taken_away: bool = True


@dataclass
class Records:
    """What a node knows, and loses when it restarts."""

    holder: str | None = None
    until: float = 0.0
    token: int = 0
    attempt: int = 0
    beside_until: float = 0.0
    #: Of each withdrawn owner up to which attempt; None when it is withdrawn for good.
    tombs: dict[str, int | None] = field(default_factory=dict)
    #: Owners whose withdrawal was executed: none of them may come back.
    gone: set[str] = field(default_factory=set)


class SimNode:
    """One node.  `rate` is how fast it counts leases, `skew` how far ahead its clock is."""

    keeps: type[Records] = Records

    def __init__(
        self, number: int, clock: Callable[[], float], rate: float, skew: float, rules: Rules
    ) -> None:
        self.number, self._clock, self._rate, self._skew, self._rules = (
            number,
            clock,
            rate,
            skew,
            rules,
        )
        self.records, self._runs, self._guard_until = self.keeps(), 0, 0.0

    def restart(self, longest: float) -> None:
        """Come back with nothing, and vote again when the longest lease is over."""
        self.records, self._runs = self.keeps(), self._runs + 1
        self._guard_until = self._now + longest + 1.0

    @property
    def _now(self) -> float:
        return self._clock() * self._rate

    @property
    def _micros(self) -> int:
        return int((self._clock() + self._skew) * 1_000_000)

    def execute(self, request: Call) -> Any:
        """Do what a script does; its name says which."""
        records = self.records
        if records.until <= self._now:
            records.holder = None
        if records.beside_until <= self._now:
            records.token = records.attempt = 0
        verb = request.operation.name.removeprefix("quorum_")
        return getattr(self, f"_{verb}")(*request.args)

    def _guarded(self, guarded: int) -> bool:
        return bool(guarded) and self._now < self._guard_until

    def _attempt(
        self,
        owner: str,
        layout: str,
        lease_ms: int,
        attempt: int,
        proposal: int,
        longest_ms: int,
        guarded: int,
        run: str,
    ) -> list[Any]:
        records, head = self.records, self._head
        if (refused := self._refused(owner, attempt, guarded)) is not None:
            return refused
        if records.holder not in (None, owner):
            return [0, *head, records.holder, 1000.0 * (records.until - self._now)]
        if self._rules.attempts and records.holder and records.attempt > attempt:
            return [2, *head]
        records.attempt = attempt
        self._lock(owner, lease_ms)
        return self._granted(proposal, longest_ms)

    @property
    def _head(self) -> list[str]:
        return [f"run{self.number}.{self._runs}", str(self._micros)]

    def _refused(self, owner: str, attempt: int, guarded: int) -> list[Any] | None:
        """What an attempt is told that is not looked at any further."""
        if self._guarded(guarded):
            return [4, *self._head, 1000.0 * (self._guard_until - self._now)]
        return [2, *self._head] if self._buried(owner, attempt) else None

    def _granted(self, proposal: int, longest_ms: int) -> list[Any]:
        """Count, and say so."""
        hint = min(proposal, self._micros + SLACK) if self._rules.capped else proposal
        floor = self._micros if self._rules.clock_floor else 0
        self.records.token = max(self.records.token + 1, floor, hint)
        self._keep_beside(longest_ms)
        return [1, *self._head, str(self.records.token)]

    def _keep_beside(self, longest_ms: int) -> None:
        ahead = max(0, self.records.token - self._micros) / 1_000_000
        self.records.beside_until = self._now + ahead + 2 * longest_ms / 1000

    def _buried(self, owner: str, attempt: float) -> bool:
        if owner not in self.records.tombs:
            return False
        upto = self.records.tombs[owner]
        return upto is None or upto >= attempt

    def _check_gone(self, owner: str) -> None:
        if owner in self.records.gone:
            raise Violation(f"{owner} holds on a node again after its withdrawal")

    def _lock(self, owner: str, lease_ms: int) -> None:
        self._check_gone(owner)
        self.records.holder, self.records.until = owner, self._now + lease_ms / 1000

    def _raise(self, owner: str, layout: str, token: int) -> list[Any]:
        return self._raised(self.records.holder == owner, token)

    def _raised(self, holds: bool, token: int) -> list[Any]:
        if not holds and self._rules.raise_checked:
            return [0]
        self.records.token = max(self.records.token, token)
        self.records.beside_until = max(self.records.beside_until, self._now + 8.0)
        return [1, str(self.records.token)]

    def _release(
        self,
        owner: str,
        layout: str,
        channel: str,
        tomb_ms: int,
        reason: str,
        attempt: int | None = None,
    ) -> list[Any]:
        records = self.records
        self._bury(owner, attempt)
        if records.holder != owner:
            return [0]
        if attempt is not None and self._rules.attempts and records.attempt > attempt:
            return [0]
        records.holder = None
        return [1]

    def _bury(self, owner: str, attempt: int | None) -> None:
        tombs = self.records.tombs
        if attempt is None:
            self.records.gone.add(owner)
        if not self._rules.tombstones:
            return
        if attempt is None or owner not in tombs:
            tombs[owner] = attempt
        elif (upto := tombs[owner]) is not None:
            tombs[owner] = max(upto, attempt)

    def _renew(
        self,
        layout: str,
        lease_ms: int,
        attempt: int,
        longest_ms: int,
        guarded: int,
        owner: str,
    ) -> list[Any]:
        records = self.records
        votes = self._rules.guard_heals or not self._guarded(guarded)
        if records.holder is None and votes and not self._buried(owner, float("inf")):
            self._lock(owner, lease_ms)
        if records.holder != owner:
            return [1, 0]
        records.until = self._now + lease_ms / 1000
        if self._rules.renewals_numbered:
            records.attempt = max(records.attempt, attempt)
        self._keep_beside(longest_ms)
        return [1, 1]
