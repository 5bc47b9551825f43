"""Schedules that walks are too rare to meet: each is safe by one rule, and goes wrong without it.

The store is the real one, the nodes are those of `quorum.nodes`; which message arrives when is
written down here.
"""

from __future__ import annotations

from typing import Any

import pytest

from interlock.backends.redis.redlock.locks import Quorum, QuorumLocks
from interlock.backends.redis.redlock.proposal import Proposal
from interlock.errors import OutcomeUnknown
from interlock.model import validity
from interlock.steps import Call, Steps, Together

from .quorum.nodes import Rules, SimNode

NAME, LEASE = "the lock", 4.0


class Question:
    """Calls under way: the test says which of them arrive, when, and whether they are answered."""

    def __init__(self, steps: Steps[Any], stage: Stage) -> None:
        self._steps, self._stage = steps, stage
        self._calls: dict[int, Call] = {}
        self._replies: dict[int, Any] = {}
        self.asked = stage.now
        self.result: Any = None
        self._go(None)

    def _go(self, reply: Any) -> None:
        try:
            request: Any = self._steps.send(reply)
        except StopIteration as end:
            self.result = end.value
            return
        assert isinstance(request, Together)
        self._order = [call.node for call in request.calls]
        self._calls, self._replies = {call.node: call for call in request.calls}, {}

    def reach(self, *nodes: int) -> Question:
        """It arrives at nodes, and their answers here."""
        for node in nodes:
            self._replies[node] = self.arrive(node)
        return self

    def arrive(self, node: int) -> Any:
        """It arrives at a node, whose answer is on its way."""
        return self._stage.nodes[node].execute(self._calls[node])

    def hear(self, node: int, answer: Any) -> Question:
        self._replies[node] = answer
        return self

    def late(self, node: int) -> Call:
        """A call that will arrive when all is over."""
        return self._calls[node]

    def end(self) -> Question:
        """Go on with the answers that there are."""
        silence = OutcomeUnknown("no answer")
        self._go([self._replies.get(node, silence) for node in self._order])
        return self


class Stage:
    """Three nodes and a clock; that of the last node is ahead."""

    node_class: type[SimNode] = SimNode

    def __init__(self, ahead: float = 0.0, **rules: bool) -> None:
        self.now, self._ahead = 100.0, ahead
        self.nodes = [
            self.node_class(each, self.clock, 1.0, skew, Rules(**rules))
            for each, skew in enumerate((0.0, 0.0, ahead))
        ]
        self._stores: dict[str, QuorumLocks] = {}

    def store(self, owner: str) -> QuorumLocks:
        """The store of a client, which knows how far the clocks of the nodes are ahead."""
        labels = ("node0", "node1", "node2")
        ahead = self._ahead if owner.startswith("2") else 0.0
        terms = (labels, "quorum", LEASE, True, self.clock, lambda: 0.5, Proposal(ahead))
        return self._stores.setdefault(owner, self._made(owner, Quorum(*terms)))

    def _made(self, owner: str, quorum: Quorum) -> QuorumLocks:
        return QuorumLocks("lock", quorum)

    def clock(self) -> float:
        return self.now

    def attempt(self, owner: str) -> Question:
        return Question(self.store(owner).attempt(NAME, owner, LEASE, False, self.now + 9.0), self)

    def renew(self, owner: str) -> Question:
        return Question(self.store(owner).renew([(NAME, owner)], LEASE, self.now + 9.0), self)

    def believes(self, question: Question) -> bool:
        """Whether the answer says that its owner holds, and is still to be trusted."""
        granted = question.result == [True] or type(question.result) is int
        return granted and self.now < validity(question.asked, LEASE)


@pytest.mark.parametrize("heals", [False, True], ids=["rule kept", "rule broken"])
def test_node_under_its_guard_that_heals_makes_two_believers(heals: bool) -> None:
    stage = Stage(ahead=2.4, guard_heals=heals)
    first = stage.attempt("1:1").reach(0, 1).end()
    assert stage.believes(first)
    stage.nodes[1].restart(LEASE)
    stage.now = 102.5
    second = stage.attempt("2:1")
    vote = second.arrive(2)
    stage.nodes[2].restart(LEASE)  # it has voted, and has forgotten it
    renewed = stage.renew("1:1").reach(0, 2).end()
    stage.now = 105.05  # the guard of the first restart is over

    second.hear(2, vote).reach(1).end()

    assert stage.believes(second)
    assert stage.believes(renewed) is heals


@pytest.mark.parametrize("numbered", [True, False], ids=["rule kept", "rule broken"])
def test_renewal_without_a_number_is_undone_by_a_late_withdrawal(numbered: bool) -> None:
    stage = Stage(renewals_numbered=numbered)
    failed = stage.attempt("1:1").reach(2)
    rival = stage.attempt("3:1").reach(0, 1)  # it has the others, so the first has no majority
    dropped = failed.reach(0, 1).end().late(2)  # its vote is taken back, but not yet there
    rival.end()
    stage.nodes[0].records.holder = stage.nodes[1].records.holder = None  # the rival has gone
    stage.now = 100.5
    again = stage.attempt("1:1").reach(0, 1).end()
    assert stage.believes(again)
    stage.now = 103.0
    renewed = stage.renew("1:1").reach(1, 2).end()
    assert stage.believes(renewed)

    stage.nodes[2].execute(dropped)
    stage.now = 104.6  # the lease on the node that was not reached is over
    other = stage.attempt("2:1").reach(0, 2, 1).end()

    assert stage.believes(renewed)
    assert stage.believes(other) is not numbered
    assert isinstance(other.result, int) is not numbered


@pytest.mark.parametrize("checked", [True, False], ids=["rule kept", "rule broken"])
def test_token_raised_on_the_node_of_another_makes_two_believers(checked: bool) -> None:
    """A node counts a lease as over, because its clock has jumped: what it has for another owner
    is no vote for us, though it votes no less than before."""
    stage = Stage(raise_checked=checked)
    stage.nodes[1].records.token = 101_000_000_000  # it is ahead, so that the tokens differ
    stage.nodes[1].records.beside_until = 200.0
    first = stage.attempt("1:1").reach(0, 1).end()
    assert first.result is None  # it has to let the other node store its token
    stage.nodes[0].records.until = stage.now  # the clock of that node jumps
    second = stage.attempt("2:1").reach(0, 2).end().reach(2).end()

    raised = first.reach(0).end()

    assert stage.believes(second)
    assert stage.believes(raised) is not checked
