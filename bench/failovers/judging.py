"""What happened in a round: from what clients believed and what the new primary had.  Pure.

A claim is a grant, and for how long its client believed in it.  A snapshot is which owners the new
primary had on record.  A record is there before its client believes and after it has ceased to, so
a claim whose record is missing in a snapshot that was read while it was believed is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any, NamedTuple, Self


class Claim(NamedTuple):
    """A grant, as its client tells it; instants are of the clock that all processes share."""

    name: str
    client: str
    #: What the library writes into the record.
    owner: str
    granted: float
    #: When the client let go, or its lease was over by its own clock.
    ended: float
    #: When the library told the client, without being asked, that the lock is lost.
    told: float | None
    #: Whether it was told that the store no longer had it.
    denied: bool
    token: int | None

    @property
    def until(self) -> float:
        """The end of believing."""
        return self.ended if self.told is None else min(self.told, self.ended)

    @property
    def was_told(self) -> bool:
        return self.told is not None and self.told <= self.ended

    def overlaps(self, other: Claim) -> bool:
        return self.granted < other.until and other.granted < self.until


class Snapshot(NamedTuple):
    """Who had what at the new primary, at some instant between these two."""

    before: float
    after: float
    owners: Mapping[str, frozenset[str]]
    #: Whether the server was a primary then, as it should be.
    primary: bool = True


class Failover(NamedTuple):
    """When the primary was struck, when another was seen to be one, and what that one had."""

    struck: float
    promoted: float
    snapshots: list[Snapshot]


@dataclass
class Score:
    """Of one contestant, over some failovers."""

    failovers: int = 0
    #: Locks that were held when another server became the primary.
    held: int = 0
    #: Those of them that it had not.
    lost: int = 0
    #: Locks that the old primary granted afterwards, so that the new one did not have them.
    stale: int = 0
    #: Of the lost and the stale: how many clients were told, and how long after the promotion,
    #: or after the grant if that was later.
    told: int = 0
    told_after: list[float] = field(default_factory=list)
    #: Locks that were given up though the new primary had them.
    given_up: int = 0
    #: Names that two clients believed to hold at the same time.
    two_believers: int = 0
    #: Those of them where the later grant had the greater token.
    fenced: int = 0
    #: Attempts that ended with an error, and were repeated.
    refused: int = 0
    #: Seconds from the fault to the first grant of the new primary.
    first_grants: list[float] = field(default_factory=list)

    def add(self, other: Self) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def as_dict(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


def judge(claims: Sequence[Claim], failover: Failover, refused: int = 0) -> Score:
    """What became of the locks of one contestant in one failover."""
    score = Score(failovers=1, refused=refused)
    for claim in claims:
        _count(score, claim, failover)
    for pairs in _believed_twice(claims):
        score.two_believers += 1
        score.fenced += all(_fenced(*pair) for pair in pairs)
    score.first_grants = _first_grant(claims, failover)
    return score


def _count(score: Score, claim: Claim, failover: Failover) -> None:
    held = claim.granted < failover.promoted < claim.until
    lost = claim.denied or missing(claim, failover.snapshots)
    score.held += held
    score.lost += held and lost
    score.stale += lost and not held
    score.given_up += claim.was_told and not lost
    if lost and claim.was_told:
        score.told += 1
        score.told_after.append(claim.until - max(failover.promoted, claim.granted))


def missing(claim: Claim, snapshots: Iterable[Snapshot]) -> bool:
    """Whether the new primary was seen without a lock that was believed to be held."""
    return any(
        claim.owner not in each.owners.get(claim.name, ())
        for each in snapshots
        if claim.granted < each.before and each.after < claim.until
    )


def _believed_twice(claims: Sequence[Claim]) -> list[list[tuple[Claim, Claim]]]:
    """The pairs of claims that overlap, name by name."""
    by_name: dict[str, list[Claim]] = {}
    for claim in sorted(claims, key=lambda each: each.granted):
        by_name.setdefault(claim.name, []).append(claim)
    found = [
        [pair for pair in combinations(group, 2) if pair[0].overlaps(pair[1])]
        for group in by_name.values()
    ]
    return [pairs for pairs in found if pairs]


def _fenced(earlier: Claim, later: Claim) -> bool:
    """Whether a resource that has seen the later token refuses the earlier client."""
    if earlier.token is None or later.token is None:
        return False
    return later.token > earlier.token


def _first_grant(claims: Sequence[Claim], failover: Failover) -> list[float]:
    kept = [
        each.granted
        for each in claims
        if each.granted > failover.promoted and not missing(each, failover.snapshots)
    ]
    return [min(kept) - failover.struck] if kept else []
