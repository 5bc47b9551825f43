"""Schedules of readers and writers that walks are too rare to meet: see `test_quorum_replays`."""

from __future__ import annotations

import pytest

from interlock.backends.redis.redlock.locks import Quorum
from interlock.backends.redis.redlock.rwlocks import QuorumRwLocks
from interlock.model import validity

from .quorum.rw_nodes import SimRwNode
from .test_quorum_replays import LEASE, NAME, Question, Stage

READER, WRITER, OTHER = "1:15", "2:16", "3:16"

broken = pytest.mark.parametrize("broken", [False, True], ids=["rule kept", "rule broken"])


class RwStage(Stage):
    """Three nodes of a read/write lock."""

    node_class = SimRwNode

    def _made(self, owner: str, quorum: Quorum) -> QuorumRwLocks:
        return QuorumRwLocks("write" if owner.endswith("6") else "read", quorum)

    def downgrade(self, owner: str) -> Question:
        store = self.store(owner)
        assert isinstance(store, QuorumRwLocks)
        return Question(store.downgrade(NAME, owner, LEASE, self.now + 9.0), self)

    def lose_a_vote(self, holder: str) -> None:
        """A client holds by two nodes, one of which restarts; its guard ends at 105.1."""
        assert self.believes(self.attempt(holder).reach(0, 1).end())
        self.now = 100.1
        self.nodes[1].restart(LEASE)


@pytest.mark.parametrize("holder", [READER, WRITER])
@broken
def test_vote_given_anew_beside_the_other_mode_makes_two_believers(
    holder: str, broken: bool
) -> None:
    rule = "readers_heal_beside_a_writer" if holder is READER else "writers_heal_beside_readers"
    stage = RwStage(**{rule: broken})
    stage.lose_a_vote(holder)
    stage.now = 102.5
    rival = stage.attempt(WRITER if holder is READER else READER)
    vote = rival.arrive(2)
    stage.now = 102.6
    renewed = stage.renew(holder).reach(0, 2).end()

    stage.now = 105.2
    rival.hear(2, vote).reach(1).end().reach(2).end()  # the token is raised where it is less

    assert stage.believes(rival)
    assert stage.believes(renewed) is broken


@broken
def test_writer_whose_vote_is_given_anew_as_a_readers_makes_two_believers(broken: bool) -> None:
    stage = RwStage(writers_heal_as_readers=broken)
    stage.lose_a_vote(WRITER)
    stage.now = 102.0
    renewed = stage.renew(WRITER).reach(0, 2).end()
    assert stage.believes(renewed)

    stage.now = 105.2
    reader = stage.attempt(READER).reach(1, 2).end()

    assert stage.believes(renewed)
    assert stage.believes(reader) is broken


def test_renewal_tells_a_node_that_has_not_heard_of_a_downgrade() -> None:
    stage = RwStage()
    stage.attempt(WRITER).reach(0, 1, 2).end()
    assert stage.downgrade(WRITER).reach(0, 1).end().result is True
    assert not stage.believes(stage.attempt("4:15").reach(2).end())

    stage.renew(WRITER).reach(0, 1, 2).end()

    assert stage.believes(stage.attempt(READER).reach(1, 2).end())
    assert stage.believes(stage.renew(WRITER).reach(0, 1).end())


def test_late_renewal_makes_no_reader_a_writer_again() -> None:
    stage = RwStage()
    stage.attempt(WRITER).reach(0, 1, 2).end()
    late = stage.renew(WRITER)
    stage.downgrade(WRITER).reach(0, 1, 2).end()

    assert stage.believes(late.reach(0, 1, 2).end())

    assert stage.believes(stage.attempt(READER).reach(0, 1).end())


def test_nodes_alone_do_not_know_that_a_writer_must_not_read_on() -> None:
    """Its lease has ended, another wrote, and late renewals vote for it anew.  So what has ended
    stays so, whatever is answered: see `recipes.rw_lease`."""
    stage = RwStage()
    first = stage.attempt(WRITER).reach(0, 1).end()
    stage.now = 103.9
    late, question = stage.renew(WRITER), stage.downgrade(WRITER)
    stage.now = 104.5
    assert stage.believes(stage.attempt(OTHER).reach(0, 1).end())
    Question(stage.store(OTHER).release(NAME, OTHER, 110.0), stage).reach(0, 1).end()
    late.reach(0, 1)

    assert question.reach(0, 1).end().result is True
    assert stage.now > validity(first.asked, LEASE)
