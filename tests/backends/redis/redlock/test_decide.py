"""What the answers of several nodes mean together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.backends.redis.redlock.decide import (
    Believe,
    RaiseTo,
    Verdict,
    decide,
    free_after,
)
from interlock.backends.redis.redlock.locks import is_decided
from interlock.backends.redis.redlock.votes import read_votes
from interlock.errors import StoreUnavailable
from interlock.recipes.agreement import agreed, majority

#: A grant, a refusal, a tombstone, a guard, a failure, and no answer yet.
REPLIES = (
    [1, b"run", b"1", b"7"],
    [0, b"run", b"1", b"other", 100],
    [2, b"run", b"1"],
    [4, b"run", b"1", 100],
    StoreUnavailable("not there"),
    None,
)


@pytest.mark.parametrize(
    ("granted", "refused", "decision"),
    [
        ([], [], Verdict.WAIT),
        ([7, 7], [2, 3], Verdict.WAIT),
        ([7, 7], [2, 3, 4], Verdict.REFUSED),
        ([], [0, 1, 2], Verdict.REFUSED),
        ([7, 7, 7], [], Believe(7)),
        ([7, 7, 7], [3, 4], Believe(7)),
        # With all votes in hand the median needs no second round, whatever they say.
        ([5, 1, 9, 3, 7], [], Believe(5)),
        # With four of them the second and the third must be equal.
        ([1, 7, 7, 9], [], Believe(7)),
        ([1, 5, 7, 9], [], RaiseTo(7, (0, 1))),
        ([5, 6, 7], [3, 4], RaiseTo(7, (0, 1))),
    ],
)
def test_an_attempt_is_decided(granted: list[int], refused: list[int], decision: object) -> None:
    tokens = dict(enumerate(granted))

    assert decide(5, tokens, tokens, refused) == decision


def test_a_token_is_believed_once_a_majority_stores_it() -> None:
    granted = {0: 5, 1: 6, 2: 7}

    assert decide(5, granted, {0: 7, 1: 6, 2: 7}, ()) == RaiseTo(7, (1,))
    assert decide(5, granted, {0: 7, 1: 8, 2: 7}, ()) == Believe(7)


def test_what_a_node_stores_that_did_not_vote_for_us_does_not_count() -> None:
    assert decide(3, {0: 5, 1: 7}, {0: 5, 1: 7, 2: 9}, ()) == RaiseTo(7, (0,))


@settings(derandomize=True, deadline=None)
@given(st.sampled_from([3, 5, 7]), st.data())
def test_a_believed_token_is_stored_by_a_majority_that_voted(
    nodes: int, data: st.DataObject
) -> None:
    votes = st.dictionaries(st.integers(0, nodes - 1), st.integers(1, 9))
    granted, raised = data.draw(votes), data.draw(votes)
    stored = {node: max(token, raised.get(node, 0)) for node, token in granted.items()}
    refused = set(range(nodes)) - granted.keys()

    decision = decide(nodes, granted, stored, refused)

    if isinstance(decision, Believe):
        holding = [node for node in granted if stored[node] >= decision.token]
        assert len(holding) >= majority(nodes)
        # A majority has granted no more than it: any earlier majority shares a node with them.
        assert sum(token <= decision.token for token in granted.values()) >= majority(nodes)
    else:
        assert (decision is Verdict.REFUSED) == (len(granted) < majority(nodes))


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([True, True, True, None, None], True),
        ([True, True, False, False, None], None),
        ([False, False, False, None, None], False),
        ([None] * 5, None),
    ],
)
def test_a_majority_says_yes_or_no(answers: list[bool | None], verdict: bool | None) -> None:
    assert agreed(5, answers) is verdict


def test_a_majority_is_free_when_enough_leases_have_ended() -> None:
    assert free_after(5, [9.0, 1.0, 3.0]) == 1.0
    assert free_after(5, [9.0, 1.0, 3.0, 4.0, 2.0]) == 3.0
    assert free_after(5, [9.0]) == 0.0


@given(st.lists(st.sampled_from(REPLIES), min_size=1, max_size=7))
def test_the_quick_look_says_when_there_is_a_decision(replies: list[object]) -> None:
    assert is_decided(replies) == (read_votes(replies).decision is not Verdict.WAIT)
