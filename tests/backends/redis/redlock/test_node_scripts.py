"""What one node does: its vote, its counter, its tombstones and its guard."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interlock.backends.redis.redlock.locks import GUARD, MARKER, beside_key
from interlock.backends.redis.scripts import script
from tests.support.servers import RedisServer

from ..watching import raw

pytestmark = pytest.mark.server

NAME, LONGEST = "orders", 2000


class Node:
    """One node, asked by its scripts."""

    def __init__(self, client: Any, layout: str, guarded: bool = False) -> None:
        self._client, self._layout, self._guarded = client, layout, int(guarded)

    def _eval(self, name: str, keys: list[str], *args: Any) -> Any:
        return self._client.eval(script(name).text, len(keys), *keys, *args)

    def _keys(self, owner: str) -> list[str]:
        return [NAME, beside_key(NAME), f"tomb:{owner}"]

    def attempt(self, owner: str, number: int = 1, proposal: int = 0, run: str = "") -> Any:
        keys = [*self._keys(owner), MARKER, GUARD]
        limits = (LONGEST, self._guarded)
        args = (owner, self._layout, 1000, number, proposal, *limits, run)
        return self._eval("quorum_attempt", keys, *args)

    def token(self, owner: str, number: int = 1, proposal: int = 0) -> int:
        answer = self.attempt(owner, number, proposal)
        assert answer[0] == 1
        return int(answer[3])

    def raise_to(self, owner: str, token: int) -> Any:
        return self._eval("quorum_raise", self._keys("")[:2], owner, self._layout, token)

    def release(self, owner: str, *attempt: int, reason: str = "") -> Any:
        args = (owner, self._layout, "channel", 60_000, reason, *attempt)
        return self._eval("quorum_release", self._keys(owner), *args)

    def renew(self, owner: str, number: int = 9, lease_ms: int = 1000) -> bool:
        keys = [*self._keys(owner), MARKER, GUARD]
        args = (self._layout, lease_ms, number, LONGEST, self._guarded, owner)
        return bool(self._eval("quorum_renew", keys, *args)[1])


@pytest.fixture(params=["hash", "string"])
def layout(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def node(peek: Any, layout: str) -> Node:
    return Node(peek, layout)


def test_a_node_has_one_vote(node: Node) -> None:
    assert node.attempt("a")[0] == 1
    assert node.attempt("b")[0] == 0
    assert node.attempt("b")[3] == "a"


def test_the_layouts_are_those_of_other_programs(node: Node, layout: str, peek: Any) -> None:
    node.attempt("a")

    held = peek.hgetall(NAME) if layout == "hash" else peek.get(NAME)
    assert held == ({"a": "1"} if layout == "hash" else "a")
    assert 0 < peek.pttl(NAME) <= 1000


def test_tokens_grow_whatever_is_proposed(node: Node) -> None:
    tokens = []
    for number, proposal in enumerate([0, 10**18, 0, 5]):
        tokens.append(node.token(f"owner{number}", proposal=proposal))
        node.release(f"owner{number}")

    assert tokens == sorted(set(tokens))
    assert tokens[1] < (time.time() + 2) * 1_000_000  # a second beyond the clock, at most


def test_a_proposal_ahead_of_the_clock_is_what_is_granted(node: Node) -> None:
    proposal = int((time.time() + 0.5) * 1_000_000)

    assert node.token("a", proposal=proposal) == proposal


def test_a_counter_that_was_lost_begins_at_the_clock(node: Node, peek: Any) -> None:
    first = node.token("a")
    peek.flushall()

    assert node.token("b") > first


def test_an_owner_that_holds_is_granted_again_with_a_newer_token(node: Node, peek: Any) -> None:
    first = node.token("a")
    peek.pexpire(NAME, 100)

    assert node.token("a", 2) > first
    assert peek.pttl(NAME) > 500


def test_an_attempt_that_is_older_than_the_grant_changes_nothing(node: Node) -> None:
    node.token("a", 2)

    assert node.attempt("a", 1)[0] == 2


def test_a_withdrawn_owner_is_refused(node: Node) -> None:
    assert node.release("a", reason="no more") == [0]
    assert node.attempt("a", 99)[0] == 2


def test_a_withdrawal_of_attempts_leaves_later_ones_alone(node: Node) -> None:
    node.attempt("a", 1)
    assert node.release("a", 1) == [1]
    assert node.attempt("a", 1)[0] == 2  # it arrives twice, or late
    assert node.attempt("a", 2)[0] == 1

    assert node.release("a", 1) == [0]  # the withdrawal does

    assert node.attempt("b")[0] == 0


def test_a_late_withdrawal_of_attempts_takes_no_renewed_vote_back(node: Node) -> None:
    node.attempt("a", 1)
    assert node.renew("a", 3)

    assert node.release("a", 1) == [0]
    assert node.attempt("b")[0] == 0


def test_no_withdrawal_of_attempts_digs_up_a_withdrawn_owner(node: Node) -> None:
    node.release("a", reason="gone")
    node.release("a", 5)
    node.release("a")

    assert node.attempt("a", 9)[0] == 2


def test_only_the_holder_raises_the_counter(node: Node) -> None:
    token = node.token("a")

    assert node.raise_to("b", token + 10) == [0]
    assert int(node.raise_to("a", token + 10)[1]) == token + 10
    assert int(node.raise_to("a", token)[1]) == token + 10
    node.release("a")
    assert node.token("b") > token + 10


def test_a_renewal_votes_anew_where_the_vote_was_lost(node: Node, peek: Any) -> None:
    node.attempt("a")
    peek.delete(NAME)

    assert node.renew("a")
    assert node.attempt("b")[0] == 0


def test_a_renewal_is_refused_to_the_withdrawn_and_beside_another(node: Node) -> None:
    node.attempt("a")
    node.release("a")

    assert not node.renew("a")
    node.attempt("b")
    assert not node.renew("c")


# --- the restart guard ---------------------------------------------------------------------------


def test_a_node_that_has_just_started_does_not_vote(own_redis: RedisServer, layout: str) -> None:
    with raw(own_redis.port) as client:
        node = Node(client, layout, guarded=True)

        code, _, _, left_ms = node.attempt("a")

        assert code == 4
        assert 1000 < left_ms <= LONGEST + 1000
        assert not node.renew("a")
        time.sleep(left_ms / 1000 + 0.01)
        assert node.attempt("a")[0] == 1


@pytest.mark.parametrize("first", ["attempt", "renew"])
def test_a_node_with_the_records_of_another_run_counts_from_now(
    own_redis: RedisServer, layout: str, first: str
) -> None:
    with raw(own_redis.port) as client:
        time.sleep(LONGEST / 1000 + 1.1)
        node = Node(client, layout, guarded=True)
        assert node.attempt("a")[0] == 1  # it has run for long enough
        client.set(MARKER, "another run")
        client.delete(NAME)

        if first == "renew":
            assert not node.renew("a")
        assert node.attempt("b")[0] == 4
        assert client.pttl(GUARD) > LONGEST - 500
        assert node.release("b") == [0]  # to withdraw is allowed


# --- what a node has told of its run -------------------------------------------------------------


def test_a_node_whose_run_is_known_is_not_asked_for_it(node: Node, peek: Any) -> None:
    run = node.attempt("a")[1]
    node.release("a")
    peek.config_resetstat()

    code, told, *_ = node.attempt("b", run=run)

    assert (code, told) == (1, run)
    assert "cmdstat_info" not in peek.info("commandstats")


def test_a_run_that_is_not_the_one_that_voted_last_is_found_out(
    own_redis: RedisServer, layout: str
) -> None:
    with raw(own_redis.port) as client:
        node = Node(client, layout, guarded=True)
        run = client.info("server")["run_id"]

        for known in ("another run", ""):
            client.delete(MARKER, GUARD)
            assert node.attempt("a", run=known)[:2] == [4, run]
        client.flushall()  # with the marker: the server has run for no longer than before
        assert node.attempt("a", run=run)[:2] == [4, run]
