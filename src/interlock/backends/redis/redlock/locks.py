"""Locks over several nodes: each operation asks all of them at once.

An attempt that gets no majority takes its votes back, without waiting for it.  The same owner asks
again later, so what it takes back are its attempts up to this one, by their number: neither an
attempt nor its withdrawal that arrives late can touch a later one.  To give a lock back is to
withdraw its owner everywhere: an attempt or a renewal may still be on its way to a slow node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ....errors import StoreError
from ....ledger import BURIED, GRANTED, OtherKind, refusal
from ....model import Busy, Holder, LockInfo, use_of_owner
from ....recipes.agreement import agreed, majority
from ....spi import BaseLockStore
from ....steps import Call, Steps, together
from ..keys import Topic, is_ours, keys_of, own_key, tomb_key
from ..locks import in_use
from ..restart_guard import check_lease
from ..scripts import TOMBSTONE_MS, in_seconds, ms, script, text
from .decide import Believe, RaiseTo
from .directory import describe
from .proposal import Proposal
from .votes import Votes, misconfigured, no_majority, read_votes

#: Which run of a node has voted last, and what is there while it does not vote.
MARKER, GUARD = "interlock:quorum:run", "interlock:quorum:guard"

#: Which run of a node is asked; its connection says so where the node has told it.
UNKNOWN_RUN = ""

#: Holds in one renewal script: long enough to be cheap, short enough to let others in.
BATCH = 250

#: The shortest and the longest pause after votes that were split, in seconds.
SPLIT = (0.005, 0.05)

_LAYOUTS = {"lock": "hash", "mutex": "string", "election": "hash"}


@dataclass(frozen=True)
class Quorum:
    """What all clients of these nodes agree on, and where to ask."""

    labels: tuple[str, ...]
    label: str
    longest_lease: float
    restart_guard: bool
    clock: Callable[[], float]
    #: A number in [0, 1).
    random: Callable[[], float]
    proposal: Proposal


def beside_key(name: str) -> str:
    """The last token of a name on a node, and the attempt that was granted last."""
    return own_key("quorum", name)


class QuorumLocks(BaseLockStore):
    """See `spi.LockStore`.  Each operation is one round trip, but for an attempt to which nodes
    have granted different tokens, and `look`, which takes a second one to tell who holds it."""

    def __init__(self, kind: str, quorum: Quorum, mode: str = "") -> None:
        super().__init__(kind, mode)
        self._quorum, self._layout, self._numbers = quorum, _LAYOUTS.get(kind, ""), count(1)
        self._nodes, self._majority = len(quorum.labels), majority(len(quorum.labels))
        self._limits = (ms(quorum.longest_lease), int(quorum.restart_guard))

    def _all(self, operation: str, keys: Any, args: Any, until: float) -> list[Call]:
        return [Call(script(operation), keys, args, until, node) for node in range(self._nodes)]

    # --- taking it -----------------------------------------------------------------------------

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        check_lease(lease, self._quorum.longest_lease)
        asked, number = self._quorum.clock(), next(self._numbers)
        terms = ms(lease), number, self._quorum.proposal.at(asked)
        questions = self._questions(name, owner, terms, waits, until)
        replies = yield from together(questions, is_decided)
        votes = read_votes(replies)
        self._quorum.proposal.learn(asked, votes.clocks.values())
        trouble = misconfigured(votes, self._quorum.labels, self._quorum.label)
        decision = votes.decision
        if isinstance(decision, RaiseTo) and trouble is None:
            yield from self._raise(name, owner, decision, votes, until)
            decision = votes.decision
        if isinstance(decision, Believe) and trouble is None:
            return decision.token
        dropped = yield from self._drop(name, owner, number, votes, until)
        if trouble is not None:
            trouble.partial = dropped
            raise trouble
        return self._refused(name, votes, dropped)

    def _questions(
        self, name: str, owner: str, terms: tuple[int, int, int], waits: bool, until: float
    ) -> list[Call]:
        """Ask all nodes for their votes; the terms are lease, number and proposal."""
        keys = (name, beside_key(name), tomb_key(name, owner), MARKER, GUARD)
        args = (owner, self._layout, *terms, *self._limits, UNKNOWN_RUN)
        return self._all("quorum_attempt", keys, args, until)

    def _raise(
        self, name: str, owner: str, decision: RaiseTo, votes: Votes, until: float
    ) -> Steps[None]:
        """Let nodes that have voted for us store the token as well.  One round trip."""
        every = self._raises(name, owner, decision.token, until)
        calls = [every[node] for node in decision.nodes]

        def heard(replies: Sequence[Any]) -> bool:
            for node, reply in zip(decision.nodes, replies, strict=True):
                if isinstance(reply, list) and reply[0] == 1:
                    votes.stored[node] = int(reply[1])
            return isinstance(votes.decision, Believe)

        heard((yield from together(calls, heard)))

    def _raises(self, name: str, owner: str, token: int, until: float) -> list[Call]:
        args = (owner, self._layout, token)
        return self._all("quorum_raise", (name, beside_key(name)), args, until)

    def _drop(self, name: str, owner: str, number: int, votes: Votes, until: float) -> Steps[bool]:
        """Take back the votes for an attempt without a majority; its answers are not awaited."""
        every = self._releases(name, owner, until, "", number)
        calls = [every[node] for node in votes.open]
        if calls:
            yield from together(calls, _none_awaited)
        return bool(calls)

    def _refused(self, name: str, votes: Votes, dropped: bool) -> Busy:
        """Who holds it, or why too few nodes have answered; `dropped` where votes are taken back,
        of which nodes may not have heard yet."""
        label = self._quorum.label
        if votes.buried:
            raise refusal(name, self.kind, (BURIED,), label)
        for each in votes.busy.values():
            self._check_kind(name, each.holder, each.left)
        if len(votes.failed) + len(votes.guarded) > self._nodes - self._majority or not votes.busy:
            failures = list(votes.failed.values())
            error = no_majority(self._nodes, failures, label, votes.guarded.values())
            error.partial = dropped
            raise error
        if (holder := votes.holder) is None:
            shortest, longest = SPLIT
            pause = shortest + (longest - shortest) * self._quorum.random()
            return Busy(None, pause, silent=True, placed=dropped)
        return Busy(holder, votes.left, True, not is_ours(holder), placed=dropped)

    def _check_kind(self, name: str, holder: str, left: float | None) -> None:
        """Refuse a name that is in use as another kind."""
        if self._layout == "hash" and holder == "mode":
            raise in_use(name, "rwlock", self.kind, self._quorum.label)
        if self._layout == "string" and left is None and holder.lstrip("-").isdigit():
            raise in_use(name, "semaphore or latch", self.kind, self._quorum.label)
        if is_ours(holder) and (kind := use_of_owner(holder)) != self.kind:
            raise in_use(name, kind, self.kind, self._quorum.label)

    # --- giving it back ------------------------------------------------------------------------

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        """Give it back on all nodes; False when it is known that fewer than a majority had it."""
        calls = self._withdrawals(name, owner, until, "")
        replies = yield from together(calls, lambda replies: self._held(replies) is not None)
        if (held := self._held(replies)) is None and not self._majority_has_answered(replies):
            raise self._unheard(replies)
        return held is not False

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        """Withdraw it on all nodes; a majority that refuses it is enough."""
        calls = self._withdrawals(name, owner, until, reason)
        replies = yield from together(calls, self._majority_has_answered)
        if not self._majority_has_answered(replies):
            raise self._unheard(replies)
        return any(isinstance(reply, list) and reply[0] == 1 for reply in replies)

    def _withdrawals(self, name: str, owner: str, until: float, reason: str) -> list[Call]:
        # Most clients listen to the first node, so it hears of it last: what it wakes then finds
        # the other nodes free.
        return self._releases(name, owner, until, reason)[::-1]

    def _releases(
        self, name: str, owner: str, until: float, reason: str, *attempt: int
    ) -> list[Call]:
        """Let all nodes take back their votes, or those for attempts up to one."""
        keys = (name, beside_key(name), tomb_key(name, owner))
        args = (owner, self._layout, keys_of(name).channel, TOMBSTONE_MS, reason, *attempt)
        return self._all("quorum_release", keys, args, until)

    def _held(self, replies: Sequence[Any]) -> bool | None:
        if replies.count(None) >= self._majority:
            return None  # as after most answers, so it is found out first
        return agreed(self._nodes, [_said(reply) for reply in replies])

    def _majority_has_answered(self, replies: Sequence[Any]) -> bool:
        return sum(isinstance(reply, list) for reply in replies) >= self._majority

    def _unheard(self, replies: Sequence[Any]) -> StoreError:
        failures = [reply for reply in replies if isinstance(reply, StoreError)]
        return no_majority(self._nodes, failures, self._quorum.label)

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        calls = self._all("tomb_read", (tomb_key(name, owner),), (), until)

        def told(replies: Sequence[Any]) -> bool:
            return bool(_reason(replies)) or self._majority_has_answered(replies)

        return _reason((yield from together(calls, told)))

    # --- keeping it ----------------------------------------------------------------------------

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        """Make each lease whole on a majority; a node that has lost it votes anew."""
        if not holds:
            return []
        batches = [holds[start : start + BATCH] for start in range(0, len(holds), BATCH)]
        calls = [call for batch in batches for call in self._renewals(batch, lease, until)]

        def decided(replies: Sequence[Any]) -> bool:
            return all(answer is not None for answer in self._renewed(batches, replies))

        replies = yield from together(calls, decided)
        unheard = self._unheard(replies)
        answers = self._renewed(batches, replies)
        return [unheard if answer is None else answer for answer in answers]

    def _renewals(
        self, batch: Sequence[tuple[str, str]], lease: float, until: float
    ) -> list[Call]:
        places = [(name, beside_key(name), tomb_key(name, owner)) for name, owner in batch]
        keys = (*(key for place in places for key in place), MARKER, GUARD)
        owners = (owner for _, owner in batch)
        args = (self._layout, ms(lease), next(self._numbers), *self._limits, *owners)
        return self._all("quorum_renew", keys, args, until)

    def _renewed(
        self, batches: Sequence[Sequence[Any]], replies: Sequence[Any]
    ) -> list[bool | None]:
        """For each hold whether a majority votes for it; None where too few have answered."""
        answers: list[bool | None] = []
        for number, batch in enumerate(batches):
            ours = replies[number * self._nodes : (number + 1) * self._nodes]
            for place in range(len(batch)):
                said = [_said(reply, place + 1) for reply in ours]
                answers.append(agreed(self._nodes, said))
        return answers

    # --- looking at it -------------------------------------------------------------------------

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        replies = yield from together(self._looks(name, until), self._seen)
        for reply in replies:
            if isinstance(reply, OtherKind):
                raise reply
        if not self._majority_has_answered(replies):
            raise self._unheard(replies)
        if not (found := self._holders(name, replies)):
            return None
        ends = [each.expires_in for each in found if each.expires_in is not None]
        holders = yield from describe(found, self._nodes, until)
        return LockInfo(name, self.kind, holders, min(ends, default=None))

    def _looks(self, name: str, until: float) -> list[Call]:
        return self._all("quorum_look", (name, beside_key(name)), (self._layout,), until)

    def _seen(self, replies: Sequence[Any]) -> bool:
        owners = [text(reply[1]) if len(reply) > 1 else "" for reply in answers_of(replies)]
        return any(owners.count(owner) >= self._majority for owner in {*owners})

    def _holders(self, name: str, replies: Sequence[Any]) -> list[Holder]:
        """The owner that a majority has voted for, if there is one."""
        held = [reply for reply in answers_of(replies) if reply[0] == 1]
        for _, owner, left_ms, _ in held:
            self._check_kind(name, text(owner), in_seconds(left_ms))
        for owner in {text(reply[1]) for reply in held}:
            mine = [reply for reply in held if text(reply[1]) == owner]
            if len(mine) >= self._majority:
                lefts = [left for reply in mine if (left := in_seconds(reply[2])) is not None]
                tokens = {
                    int(reply[3] or 0) for reply in mine
                }  # where they differ, it is not known
                token = tokens.pop() if len(tokens) == 1 else 0
                return [Holder(owner, token=token or None, expires_in=max(lefts, default=None))]
        return []

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return (Topic(keys_of(name).channel, None),)


def is_decided(replies: Sequence[Any]) -> bool:
    """Whether the decision is any but to wait: a majority votes for us, or cannot any more.

    It is asked for after every answer, so it counts them and no more.
    """
    nodes, heard = len(replies), len(replies) - replies.count(None)
    if heard <= nodes - majority(nodes):
        return False
    granted: int = sum(type(reply) is list and reply[0] == GRANTED for reply in replies)
    return granted >= majority(nodes) or heard - granted > nodes - majority(nodes)


def _none_awaited(replies: Sequence[Any]) -> bool:
    return True


def answers_of(replies: Sequence[Any]) -> list[list[Any]]:
    """What nodes have answered, those that have."""
    return [reply for reply in replies if isinstance(reply, list)]


def _said(reply: Any, place: int = 0) -> bool | None:
    """Yes or no of a node; None where it has said nothing."""
    return bool(reply[place]) if isinstance(reply, list) else None


def _reason(replies: Sequence[Any]) -> str:
    """The reason that a node keeps with a tombstone, behind a sign that says what is buried."""
    reasons = (
        text(reply[1])[1:] for reply in answers_of(replies) if reply[0] and reply[1][:1] == b"="
    )
    return next(filter(None, reasons), "")
