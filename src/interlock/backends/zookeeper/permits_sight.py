"""What can be seen of permits: who has how many, and who waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...model import Holder
from . import names, queue

#: Curator cuts the names of leases here.
LEASE = ("lease-",)


class Shared(NamedTuple):
    """The leases of those who have permits, and how many others wait."""

    leases: Sequence[str]
    waiters: int


def shared(line: Sequence[str], leases: Sequence[str], room: int | None) -> Shared:
    """Tell who has permits from who waits.  Pure.

    The first of the line may have leases too many already: they are no permits yet.  If there
    are none too many, it has them, and is about to leave the line.
    """
    ranked, first = queue.ranked(leases, LEASE), queue.ranked(line, queue.MUTEX)[:1]
    if first and room is not None and len(ranked) > room:
        ranked = _without_surplus(ranked, first[0])
    owners = {names.owner_of(each) for each in ranked}
    return Shared(ranked, sum(names.owner_of(each) not in owners for each in line))


def _without_surplus(ranked: list[str], first: str) -> list[str]:
    """Java gives every node a name of its own, but there the newest is the one too many."""
    if not names.is_ours(first):
        return ranked[:-1]
    return [each for each in ranked if names.owner_of(each) != names.owner_of(first)]


def crowd(line: Sequence[str], leases: Sequence[str], mine: str, weight: int) -> int:
    """How many leases there will be once everybody in line up to us has its own.  Pure.

    Those before us may want several, but nobody can tell.
    """
    lent = {names.owner_of(each) for each in leases}
    place = names.key(mine, *queue.MUTEX)
    before = [each for each in line if names.key(each, *queue.MUTEX) < place]
    return len(leases) + sum(names.owner_of(each) not in lent for each in before) + weight


def weighed(holders: Sequence[Holder]) -> tuple[Holder, ...]:
    """One holder for all the leases of an owner.  Pure."""
    shares: dict[str, list[Holder]] = {}
    for each in holders:
        shares.setdefault(each.owner, []).append(each)
    return tuple(
        replace(share[-1], since=share[0].since, weight=len(share)) for share in shares.values()
    )
