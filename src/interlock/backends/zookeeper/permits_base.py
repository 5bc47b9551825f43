"""What mutexes and semaphores share: how leases are asked for, kept, seen and given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import StoreError
from ...model import ASKED, Busy, LockInfo
from ...steps import Steps
from . import names, queue, tombs
from .folder import Spot, Standing, ask, leave, stand
from .kinds import in_use
from .locks import SCANS, ZkLocks, kept
from .nodes import Node
from .permits_count import other_use
from .permits_leases import Claim, leave_both, lists, step_aside, take
from .permits_sight import LEASE, crowd, shared, weighed
from .sight import expires, holding
from .wire import Answer, Ask, Children, Container, No, Sync


class Seen(NamedTuple):
    """Our leases, all that there are, and for how many there is room."""

    mine: Node
    leases: Sequence[str]
    room: int

    @property
    def fits(self) -> bool:
        return len(self.leases) <= self.room

    @property
    def holder(self) -> str | None:
        """Somebody else who has a permit."""
        mine = {each.name for each in self.mine.together}
        others = [each for each in queue.ranked(self.leases, LEASE) if each not in mine]
        return names.owner_of(others[0]) if others else None


class ZkPermits(ZkLocks):
    """Leases in one directory, and a line before it: see `stores.LockStore`.

    What is free costs two round trips, a release one; to wait takes one round trip more, and
    each wake one or two.
    """

    reentrant, trips = False, 2
    #: How many leases an acquisition takes.
    weight = 1

    def _spot(self, name: str, owner: str) -> Spot:
        return self._claim(name, owner).line

    def _claim(self, name: str, owner: str) -> Claim:
        return Claim(name, self.ground.path_of(name), owner)

    def _held(self, name: str, owner: str) -> Node | None:
        return self._nodes.get(owner, self._claim(name, owner).leases.folder)

    # --- for how many there is room ------------------------------------------------------

    def _facts(self, name: str, topic: Any) -> Ask:
        """What tells for how many there is room."""
        raise NotImplementedError

    def _number(self, name: str, told: Answer) -> int | None:
        """For how many there is room; None when nobody has said so."""
        raise NotImplementedError

    def _room(self, name: str, told: Answer, until: float) -> Steps[int]:
        """The same, once it was said; raises where the name is in use as something else."""
        raise NotImplementedError

    # --- asking -------------------------------------------------------------------------

    def _known(self, name: str, owner: str) -> bool:
        line = self._nodes.get(owner, self._claim(name, owner).line.folder)
        return line is not None or super()._known(name, owner)

    def _attempt(self, name: str, owner: str, waits: bool, until: float) -> Steps[int | Busy]:
        claim, topic = self._claim(name, owner), (name, owner) if waits else None
        seen = yield from self._seen_again(claim, until, topic)
        if seen is None:
            standing, before = yield from self._in_line(claim, until, topic)
            if before is not None:
                if self._nodes.asked(claim.owner, claim.leases.folder):
                    # Whoever is before us would wait for leases that wait behind it.
                    yield from leave(self._nodes, claim.leases, until)
                first = queue.ranked(standing.children, self.cuts)[0]
                return (yield from self._turned_away(claim, names.owner_of(first), waits, until))
            seen = yield from self._lent(claim, standing, until, topic)
        if not seen.fits:
            return (yield from self._turned_away(claim, seen.holder, waits, until))
        yield from step_aside(self._nodes, claim, until)
        return seen.mine.token

    def _in_line(
        self, claim: Claim, until: float, topic: Any
    ) -> Steps[tuple[Standing, str | None]]:
        """Stand in line, and see who is before us.

        A mere try looks again while there is room for everybody before it, and for itself: it
        would be wrong to say that nothing is free.
        """
        standing, before = yield from self._line_up(claim.line, until, topic)
        for _ in range(SCANS):
            if before is None or topic is not None or self.stays:
                break
            if not (yield from self._passing(claim, standing, until)):
                break
            standing, before = yield from self._line_up(claim.line, until, topic)
        return standing, before

    def _passing(self, claim: Claim, standing: Standing, until: float) -> Steps[bool]:
        """Whether there is room for those before us as well.  One round trip, or none."""
        line, mine = standing.children, standing.node.name
        rooms = [self._number(claim.name, told) for told in standing.beside]
        if any(room is not None and room < crowd(line, (), mine, self.weight) for room in rooms):
            return False
        reads = (Children(claim.leases.folder), self._facts(claim.name, None))
        leases, told = yield from ask(claim.name, reads, until)
        lent, room = [] if no(leases) else leases.value, self._number(claim.name, told)
        return room is not None and crowd(line, lent, mine, self.weight) <= room

    def _arrive(self, spot: Spot, until: float) -> Steps[Standing]:
        leases = self._claim(spot.name, spot.owner).leases.folder
        facts = [self._facts(spot.name, None)]
        return stand(self._nodes, spot, until, facts, [Container(leases)])

    def _check(self, spot: Spot, standing: Standing, until: float) -> Steps[None]:
        for told in standing.beside:
            yield from self._room(spot.name, told, until)

    def _lent(self, claim: Claim, standing: Standing, until: float, topic: Any) -> Steps[Seen]:
        """Make our leases, now that we are the first in line.  One round trip."""
        known = [each for each in standing.beside if not no(each)]
        reads: list[Ask] = [Children(claim.leases.folder, topic)]
        if topic is not None or not known:
            reads.append(self._facts(claim.name, topic))
        lent = yield from take(self._nodes, claim.leases, self.weight, until, reads)
        (told,) = lent.beside or known
        room = yield from self._room(claim.name, told, until)
        return Seen(lent.node, lent.children, room)

    def _seen_again(self, claim: Claim, until: float, topic: Any) -> Steps[Seen | None]:
        """Look at the leases that we have; None without any, or when they are worth nothing.

        One round trip.  They are worth nothing when one of them has gone, or if they are too
        many and we are not in line any more.
        """
        mine = self._nodes.get(claim.owner, claim.leases.folder)
        place = self._nodes.get(claim.owner, claim.line.folder)
        if mine is None:
            return None
        reads = (
            Sync(claim.path, always=False),  # the list may let us in: see `folder.look_again`
            Children(claim.leases.folder, topic),
            Children(claim.line.folder),
            self._facts(claim.name, topic),
        )
        _, leases, line, told = yield from ask(claim.name, reads, until)
        if lists(leases, mine):
            seen = Seen(mine, leases.value, (yield from self._room(claim.name, told, until)))
            if seen.fits or (place is not None and lists(line, place)):
                return seen
        yield from tombs.check(self.ground, claim.name, claim.owner, self.kind, until)
        yield from leave_both(self._nodes, claim, until)
        return None

    def _turned_away(
        self, claim: Claim, holder: str | None, waits: bool, until: float
    ) -> Steps[Busy]:
        placed = waits or self.stays
        if not placed:
            yield from leave_both(self._nodes, claim, until)
        return Busy(holder, None, placed=placed)

    # --- giving back, keeping -------------------------------------------------------------

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return leave_both(self._nodes, self._claim(name, owner), until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        if reason:
            yield from tombs.bury(self.ground, name, owner, reason, until)
        return (yield from leave_both(self._nodes, self._claim(name, owner), until))

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """As every lock's; who has lost one lease of several has lost them all."""
        shares = [self._held(name, owner) for name, owner in holds]
        nodes = [node for share in shares if share is not None for node in share.together]
        answers = dict(zip(nodes, (yield from kept(nodes, until)), strict=True))
        return [
            False if share is None else _worst([answers[node] for node in share.together])
            for share in shares
        ]

    # --- looking ------------------------------------------------------------------------

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Who has permits, and how many wait; None when nothing is known.  Three round trips."""
        claim = self._claim(name, "")
        folders = (claim.path, claim.leases.folder, claim.line.folder)
        reads = [*(Children(each) for each in folders), self._facts(name, None)]
        *listed, told = yield from ask(name, reads, until)
        children, leases, line = ([] if no(each) else each.value for each in listed)
        if (use := other_use(children, (*leases, *line), self.kind)) is not None:
            raise in_use(name, use, self.kind, self.label)
        room = self._number(name, told)
        sharing, waiters = shared(line, leases, room)
        held = yield from holding(self.ground, name, claim.leases.folder, sharing, "", until)
        info = LockInfo(name, self.kind, weighed(held), expires(held), waiters)
        return self._told(info, room)

    def _told(self, info: LockInfo, room: int | None) -> LockInfo | None:
        return info if info.holders else None


def no(answer: Answer) -> bool:
    """Whether there is no such node."""
    return answer.value is No.MISSING


def _worst(answers: Sequence[bool | str | StoreError]) -> bool | str | StoreError:
    """What becomes of a hold by what became of its leases."""
    if False in answers:
        return False
    failed = [each for each in answers if isinstance(each, StoreError)]
    return failed[0] if failed else ASKED if ASKED in answers else True
