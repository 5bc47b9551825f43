"""What the nodes have answered to an attempt, and why there is no majority.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

from ....errors import (
    OutcomeUnknown,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    internal,
)
from ....ledger import BURIED, BUSY, GRANTED
from ....recipes.agreement import majority
from ....words import duration
from ..scripts import in_seconds, text
from .decide import Decision, decide, free_after

#: The answer of a node that has restarted, and does not vote yet.
GUARDED = 4


@internal
class Unawaited(OutcomeUnknown):
    """What a link answers for a node whose answer was not awaited, because others were enough."""


class VotedFor(NamedTuple):
    """Who has the vote of a node, and for how many more seconds; None when that never ends."""

    holder: str
    left: float | None


class Votes:
    """What each node has answered; those that have not yet are not in it."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.granted: dict[int, int] = {}
        #: What each node is known to store while it votes for us.
        self.stored: dict[int, int] = {}
        self.busy: dict[int, VotedFor] = {}
        self.guarded: dict[int, float] = {}
        self.failed: dict[int, StoreError] = {}
        self.buried: set[int] = set()
        self.runs: dict[int, str] = {}
        self.clocks: dict[int, int] = {}

    def hear(self, node: int, reply: Any) -> None:
        """Note the answer of a node, or why there is none."""
        if isinstance(reply, StoreError):
            if not isinstance(reply, Unawaited):
                self.failed[node] = reply
            return
        code, run, clock, *rest = reply
        self.runs[node], self.clocks[node] = text(run), int(clock)
        if code == GRANTED:
            self.granted[node] = self.stored[node] = int(rest[0])
        elif code == BUSY:
            self.busy[node] = VotedFor(text(rest[0]), in_seconds(rest[1]))
        elif code == BURIED:
            self.buried.add(node)
        else:
            self.guarded[node] = rest[0] / 1000

    @property
    def decision(self) -> Decision:
        refused = {*self.busy, *self.guarded, *self.failed, *self.buried}
        return decide(self.nodes, self.granted, self.stored, refused)

    @property
    def holder(self) -> str | None:
        """The holder that has a majority; None where the votes are split."""
        ((holder, count),) = Counter(each.holder for each in self.busy.values()).most_common(1)
        return holder if count >= majority(self.nodes) else None

    @property
    def left(self) -> float | None:
        """After how many seconds a majority will be free by itself, if it will."""
        lefts = [inf if each.left is None else each.left for each in self.busy.values()]
        left = free_after(
            self.nodes, [*lefts, *self.guarded.values(), *(inf for _ in self.failed)]
        )
        return None if left == inf else left

    @property
    def open(self) -> list[int]:
        """The nodes that may vote for us, now or when our question arrives there."""
        refused = {*self.busy, *self.guarded, *self.buried}
        refused |= {node for node, failure in self.failed.items() if _untouched(failure)}
        return [node for node in range(self.nodes) if node not in refused]


def _untouched(failure: StoreError) -> bool:
    """Whether a node has executed nothing of a question, and will not."""
    return not isinstance(failure, OutcomeUnknown) and not failure.partial


def read_votes(replies: Sequence[Any]) -> Votes:
    """Read the answers of all nodes, in their order; None where there is none yet."""
    votes = Votes(len(replies))
    for node, reply in enumerate(replies):
        if reply is not None:
            votes.hear(node, reply)
    return votes


def misconfigured(votes: Votes, labels: Sequence[str], label: str) -> StoreError | None:
    """Why these nodes cannot be what their user takes them for, if that has been seen."""
    for failure in votes.failed.values():
        if isinstance(failure, StoreMisconfigured):
            return failure
    seen: dict[str, int] = {}
    for node, run in votes.runs.items():
        if (other := seen.setdefault(run, node)) != node:
            return StoreMisconfigured(
                f"{labels[other]} and {labels[node]} are one and the same server, which has one "
                f"vote: name {votes.nodes} different servers",
                label,
            )
    return None


def no_majority(
    nodes: int, failures: Iterable[StoreError], label: str, guarded: Iterable[float] = ()
) -> StoreError:
    """Too few nodes have answered: with the reasons of all of them."""
    failures = [each for each in failures if not isinstance(each, Unawaited)]
    waits = sorted(guarded)
    reasons = [str(failure) for failure in failures]
    if waits:
        have = "has" if len(waits) == 1 else "have"
        reasons.append(
            f"{len(waits)} {have} restarted; the first votes again in {duration(waits[0])}"
        )
    missing = len(failures) + len(waits)
    words = f"{missing} of the {nodes} nodes of {label} cannot vote: {'; '.join(reasons)}"
    unknown = any(isinstance(failure, OutcomeUnknown) for failure in failures)
    final = bool(failures) and not waits and all(failure.final for failure in failures)
    return (OutcomeUnknown if unknown else StoreUnavailable)(words, label, final)
