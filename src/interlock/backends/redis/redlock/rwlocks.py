"""Read/write locks over several nodes, each of which keeps Redisson's RReadWriteLock.

Theory of operation.  A node votes for one writer, or for any number of readers, each for as long
as its own lease.  Two majorities share a node, so a writer and a reader never hold at the same
time, nor do two writers; and a token is greater than all that were believed before its question
was sent (see `decide`).  Readers whose questions cross each other may get the same one.

Readers that come and go one over another leave a writer no majority that is free at one moment.
So a writer that waits leaves a mark at each node that refuses it.  While the mark stands, the node
votes for no new reader; those that read go on, and are renewed.  An attempt that fails was refused
by so many nodes that the others are no majority: no reader comes in, and the writer does when the
last one has gone.  It sets its marks anew with each attempt, and takes them away when it is
granted, gives up or is withdrawn; those of a writer that died end by themselves.  A writer that
gives the lock back takes away all marks, so that readers that wait may come as well as writers.

A writer that reads on (`downgrade`) becomes a reader on one node before it does on another.  It
counts as a reader from the question on, for which its votes as a writer are more than enough; the
next renewal tells the nodes that have not heard of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

from ....errors import StoreError
from ....model import Busy, Holder
from ....steps import Call, Steps, together
from ..keys import Topic, hold_key, own_key, rw_channel, tag, tomb_key
from ..rwlocks import WRITE, holder_of, owner_of
from ..scripts import TOMBSTONE_MS, Script, in_seconds, ms, remade, script, text
from .locks import GUARD, MARKER, Quorum, QuorumLocks, answers_of, beside_key
from .votes import VotedFor, Votes

#: Seconds for which the mark of a writer stands that waits, and asks again long before.
MARKED = 2.0

#: Operations that vote, so that they ask first whether the node does.
_VOTING = ("quorum_read_attempt", "quorum_write_attempt", "quorum_rw_renew")


def writers_key(name: str) -> str:
    """The marks of the writers that wait."""
    return own_key("writers", name)


@cache
def as_sent(name: str) -> Script:
    """A script of this file, as it is sent."""
    plain = script(name)
    if name not in _VOTING:
        return plain
    return remade(plain, script("quorum_voting").text + plain.text)


class QuorumRwLocks(QuorumLocks):
    """One mode of read/write locks: see `spi.RwStore`.  What each operation costs is what it costs
    for a lock; `downgrade` is one round trip."""

    def __init__(self, mode: str, quorum: Quorum) -> None:
        super().__init__("rwlock", quorum, mode)
        self.mode, self.shared = mode, mode == "read"
        #: Writers of ours that read on.
        self._reading: set[str] = set()

    def _all(self, operation: str, keys: Any, args: Any, until: float) -> list[Call]:
        if operation in _VOTING:
            keys, args = (*keys, MARKER, GUARD), (*args, *self._limits)
        return [Call(as_sent(operation), keys, args, until, node) for node in range(self._nodes)]

    # --- taking it -----------------------------------------------------------------------------

    def _questions(
        self, name: str, owner: str, terms: tuple[int, int, int], waits: bool, until: float
    ) -> list[Call]:
        keys = (*_places(name, owner), writers_key(name))
        if self.shared:
            return self._all("quorum_read_attempt", keys, (owner, *terms), until)
        args = (owner, *terms, ms(MARKED) if waits else 0, tag(name))
        return self._all("quorum_write_attempt", keys, args, until)

    def _raises(self, name: str, owner: str, token: int, until: float) -> list[Call]:
        keys = (name, beside_key(name), hold_key(name, owner))
        return self._all("quorum_rw_raise", keys, (owner, token), until)

    def _refused(self, name: str, votes: Votes, dropped: bool) -> Busy:
        """As ever; but readers are no rivals of each other, nor are writers that only wait."""
        one = next((each.holder for each in votes.busy.values() if _is_alike(each)), "")
        for node, each in votes.busy.items():
            holder = one if _is_alike(each) else owner_of(each.holder)
            votes.busy[node] = each._replace(holder=holder)
        return super()._refused(name, votes, dropped)

    # --- giving it back, or a part of it -------------------------------------------------------

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        self._reading.discard(owner)
        return super().release(name, owner, until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        self._reading.discard(owner)
        return super().withdraw(name, owner, until, reason)

    def _releases(
        self, name: str, owner: str, until: float, reason: str, *attempt: int
    ) -> list[Call]:
        keys = (name, beside_key(name), tomb_key(name, owner), writers_key(name))
        args = (owner, tag(name), TOMBSTONE_MS, reason, *attempt)
        return self._all("quorum_rw_release", keys, args, until)

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        """Make a writer a reader on a majority; False when fewer have it for the owner."""
        self._reading.add(owner)
        args = (owner, ms(lease), next(self._numbers), rw_channel(name))
        calls = self._all("quorum_rw_downgrade", (name, hold_key(name, owner)), args, until)
        replies = yield from together(calls, lambda replies: self._held(replies) is not None)
        if (held := self._held(replies)) is None:
            raise self._unheard(replies)
        return held

    # --- keeping it ----------------------------------------------------------------------------

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        answers = yield from super().renew(holds, lease, until)
        for (_, owner), answer in zip(holds, answers, strict=True):
            if answer is False:
                self._reading.discard(owner)
        return answers

    def _renewals(
        self, batch: Sequence[tuple[str, str]], lease: float, until: float
    ) -> list[Call]:
        keys = tuple(key for hold in batch for key in _places(*hold))
        args = (ms(lease), next(self._numbers), *(self._field(owner) for _, owner in batch))
        return self._all("quorum_rw_renew", keys, args, until)

    def _field(self, owner: str) -> str:
        """How an owner of ours is written down."""
        return owner if self.shared or owner in self._reading else owner + WRITE

    # --- looking at it -------------------------------------------------------------------------

    def _looks(self, name: str, until: float) -> list[Call]:
        return self._all("quorum_rw_look", (name, beside_key(name)), (tag(name),), until)

    def _seen(self, replies: Sequence[Any]) -> bool:
        """Whether it is certain of each owner that a majority has it, or that none does."""
        missing = sum(reply is None for reply in replies)
        times = Counter(
            owner_of(text(each)) for reply in answers_of(replies) for each in reply[2::2]
        )
        undecided = range(max(1, self._majority - missing), self._majority)
        return self._majority_has_answered(replies) and not {*undecided} & {*times.values()}

    def _holders(self, name: str, replies: Sequence[Any]) -> list[Holder]:
        """The owners for which a majority has voted, in either mode."""
        votes: dict[str, list[Holder]] = {}
        for _, token, *rest in (reply for reply in answers_of(replies) if reply[0] == 1):
            for field, left_ms in zip(rest[::2], rest[1::2], strict=True):
                vote = holder_of(text(field), in_seconds(left_ms))
                votes.setdefault(vote.owner, []).append(replace(vote, token=int(token or 0)))
        return [self._agreed_on(each) for each in votes.values() if len(each) >= self._majority]

    def _agreed_on(self, votes: list[Holder]) -> Holder:
        """What the votes for one owner say together: it holds as long as a majority stands."""
        ends = sorted(inf if each.expires_in is None else each.expires_in for each in votes)
        end, tokens = ends[-self._majority], {each.token for each in votes}
        writes = sum(each.mode == "write" for each in votes) >= self._majority
        return replace(
            votes[0],
            mode="write" if writes else "read",
            token=(tokens.pop() if len(tokens) == 1 else 0) or None,
            expires_in=None if end == inf else end,
        )

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return (Topic(rw_channel(name), None),)


def _places(name: str, owner: str) -> tuple[str, ...]:
    """Where a node keeps a hold, and what belongs to it."""
    return name, beside_key(name), tomb_key(name, owner), hold_key(name, owner)


def _is_alike(vote: VotedFor) -> bool:
    """Whether a node refuses a writer for a reader, or a reader for a writer that waits: any of
    them means the same."""
    return not vote.holder.endswith(WRITE)
