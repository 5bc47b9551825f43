"""What one node does for readers and writers: votes, leases, and the marks of writers."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
import redis

from interlock.backends.redis.keys import hold_key, tag
from interlock.backends.redis.redlock.locks import GUARD, MARKER, beside_key
from interlock.backends.redis.redlock.rwlocks import as_sent, writers_key
from tests.support.servers import RedisServer

from ....support.eventually import eventually
from ..watching import raw

pytestmark = pytest.mark.server

NAME, LONGEST, LONG = "orders", 2000, 60_000


class RwNode:
    """One node, asked by its scripts."""

    def __init__(self, client: Any, guarded: bool = False) -> None:
        self._client, self._limits = client, (LONGEST, int(guarded))

    def _eval(self, name: str, keys: tuple[str, ...], *args: Any) -> Any:
        return self._client.eval(as_sent(name).text, len(keys), *keys, *args)

    def _keys(self, owner: str) -> tuple[str, ...]:
        return NAME, beside_key(NAME), f"tomb:{owner}", hold_key(NAME, owner)

    def read(self, owner: str, number: int = 1, lease_ms: int = LONG) -> Any:
        keys = (*self._keys(owner), writers_key(NAME), MARKER, GUARD)
        return self._eval("quorum_read_attempt", keys, owner, lease_ms, number, 0, *self._limits)

    def write(self, owner: str, number: int = 1, mark_ms: int = 0, lease_ms: int = LONG) -> Any:
        keys = (*self._keys(owner), writers_key(NAME), MARKER, GUARD)
        args = (owner, lease_ms, number, 0, mark_ms, tag(NAME), *self._limits)
        return self._eval("quorum_write_attempt", keys, *args)

    def raise_to(self, owner: str, token: int) -> Any:
        keys = (NAME, beside_key(NAME), hold_key(NAME, owner))
        return self._eval("quorum_rw_raise", keys, owner, token)

    def release(self, owner: str, *attempt: int, reason: str = "") -> Any:
        keys = (*self._keys(owner)[:3], writers_key(NAME))
        return self._eval("quorum_rw_release", keys, owner, tag(NAME), LONG, reason, *attempt)

    def renew(self, field: str, number: int = 9, lease_ms: int = LONG) -> bool:
        keys = (*self._keys(field.removesuffix(":write")), MARKER, GUARD)
        args = (lease_ms, number, field, *self._limits)
        return bool(self._eval("quorum_rw_renew", keys, *args)[1])

    def downgrade(self, owner: str, number: int = 9) -> Any:
        keys = (NAME, hold_key(NAME, owner))
        return self._eval("quorum_rw_downgrade", keys, owner, LONG, number, "channel")

    def look(self) -> Any:
        return self._eval("quorum_rw_look", (NAME, beside_key(NAME)), tag(NAME))


@pytest.fixture
def node(peek: Any) -> RwNode:
    return RwNode(peek)


# --- votes, and what they look like --------------------------------------------------------------


def test_readers_share_the_vote_and_a_writer_has_it_alone(node: RwNode) -> None:
    assert node.read("a")[0] == node.read("b")[0] == 1
    assert node.write("w")[0] == 0
    node.release("a")
    node.release("b")
    assert node.write("w")[0] == 1
    assert node.write("v")[3] == node.read("c")[3] == "w:write"


def test_the_layout_is_redissons(node: RwNode, peek: Any) -> None:
    node.read("a")
    node.read("b", lease_ms=1000)

    assert peek.hgetall(NAME) == {"mode": "read", "a": "1", "b": "1"}
    assert 0 < peek.pttl("{orders}:b:rwlock_timeout:1") <= 1000 < peek.pttl(NAME)
    node.release("a")
    node.release("b")
    assert not peek.exists(NAME, "{orders}:a:rwlock_timeout:1", "{orders}:b:rwlock_timeout:1")
    node.write("w")
    assert peek.hgetall(NAME) == {"mode": "write", "w:write": "1"}


def test_each_reader_has_a_lease_of_its_own(node: RwNode, peek: Any) -> None:
    node.read("a", lease_ms=30)
    node.read("b")
    assert eventually(lambda: not peek.exists(hold_key(NAME, "a")))

    assert node.look()[2] == "b"
    assert node.release("a") == [0]
    assert node.release("b") == [1]
    assert node.write("w")[0] == 1


def test_a_writer_takes_away_readers_that_died(node: RwNode, peek: Any) -> None:
    for number in range(300):
        node.read(f"dead{number}", lease_ms=1)
    assert eventually(lambda: not peek.exists(hold_key(NAME, "dead299")))
    node.read("last")
    assert node.write("w")[3] == "last"
    peek.delete(hold_key(NAME, "last"))  # its lease ends; the hash is still there

    assert node.write("w")[0] == 1
    assert peek.hgetall(NAME) == {"mode": "write", "w:write": "1"}


def test_another_kind_of_name_is_refused(node: RwNode, peek: Any) -> None:
    makers = {"a": partial(peek.hset, NAME, "an owner", 1), "b": partial(peek.set, NAME, "x")}
    for owner, make in makers.items():
        make()
        for ask in (partial(node.read, owner), partial(node.write, owner), node.look):
            with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
                ask()
        assert not node.renew(owner) and not node.renew(f"{owner}:write")
        assert node.release(owner) == node.downgrade(owner) == [0]
        peek.delete(NAME)


def test_tokens_of_readers_and_writers_grow(node: RwNode) -> None:
    tokens = [int(node.read("a")[3]), int(node.read("b")[3])]
    assert node.raise_to("b", tokens[1] + 5) == [1, str(tokens[1] + 5)]
    assert node.raise_to("c", tokens[1] + 9) == [0]
    node.release("a")
    node.release("b")
    tokens.append(int(node.write("w")[3]))

    assert tokens == sorted({*tokens})
    assert tokens[2] > tokens[1] + 5
    assert node.look()[1] == str(tokens[2])


# --- attempts and withdrawals --------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_withdrawal_of_attempts_leaves_later_ones_alone(node: RwNode, mode: str) -> None:
    ask = getattr(node, mode)
    assert ask("a", 1)[0] == 1
    assert node.release("a", 1) == [1]
    assert ask("a", 1)[0] == 2  # it arrives twice, or late
    assert ask("a", 2)[0] == 1

    assert node.release("a", 1) == [0]  # the withdrawal does
    assert node.renew("a" if mode == "read" else "a:write", 5)
    assert node.release("a", 2) == [0]
    assert ask("a", 3)[0] == 2
    assert node.release("a", reason="no more") == [1]
    assert ask("a", 99)[0] == 2
    assert not node.renew("a") and not node.renew("a:write")


def test_a_late_question_to_write_makes_no_reader_a_writer(node: RwNode, peek: Any) -> None:
    node.write("w", 1)
    assert node.downgrade("w", 2) == [1]

    assert node.write("w", 1)[0] == 2
    assert peek.hgetall(NAME) == {"mode": "read", "w": "1"}


# --- renewals, which are votes -------------------------------------------------------------------


def test_a_vote_is_given_anew_only_where_its_mode_has_room(node: RwNode, peek: Any) -> None:
    assert node.renew("a")
    assert node.renew("b")
    assert not node.renew("w:write")
    peek.delete(NAME)
    assert node.renew("w:write")
    assert not node.renew("v:write")
    assert not node.renew("a")


def test_a_renewal_as_a_reader_tells_of_a_downgrade_and_never_back(
    node: RwNode, peek: Any
) -> None:
    node.write("w")
    assert node.renew("w")
    assert peek.hgetall(NAME) == {"mode": "read", "w": "1"}

    assert node.renew("w:write")  # a late one
    assert peek.hgetall(NAME) == {"mode": "read", "w": "1"}
    assert node.release("w") == [1]


def test_a_renewal_cuts_no_other_lease(node: RwNode, peek: Any) -> None:
    node.read("a", lease_ms=LONG)
    node.read("b")
    node.renew("b", lease_ms=1000)

    assert peek.pttl(hold_key(NAME, "a")) > 1000
    assert peek.pttl(NAME) > 1000 >= peek.pttl(hold_key(NAME, "b"))


# --- the marks of writers that wait --------------------------------------------------------------


def test_a_writer_that_waits_keeps_new_readers_out(node: RwNode, peek: Any) -> None:
    node.read("a")
    node.write("w", mark_ms=LONG)

    code, _, _, holder, left_ms = node.read("b")
    assert (code, holder) == (0, "w")
    assert 0 < left_ms <= LONG
    assert node.read("a", 2)[0] == 1  # it reads already
    assert node.renew("a")
    peek.delete(NAME)
    assert node.read("b")[0] == 0  # though nothing is held: it is the writer's turn
    assert node.write("w", 2)[0] == 1
    assert not peek.exists(writers_key(NAME))


def test_one_that_tries_leaves_no_mark_and_a_mark_ends_by_itself(node: RwNode, peek: Any) -> None:
    node.read("a")
    node.write("w")
    assert node.read("b")[0] == 1
    node.write("w", 2, mark_ms=50)

    assert eventually(lambda: node.read("c")[0] == 1)
    assert eventually(lambda: not peek.exists(writers_key(NAME)))


def test_each_writer_takes_away_its_own_mark(node: RwNode, peek: Any) -> None:
    node.read("a")
    node.write("v", mark_ms=LONG)
    node.write("w", mark_ms=LONG)

    node.release("v", 1)  # an attempt: it waits on
    assert peek.zcard(writers_key(NAME)) == 2
    node.release("v")
    assert node.read("b")[0] == 0
    node.release("w")
    assert node.read("b")[0] == 1


def test_a_mark_that_has_ended_does_not_live_on_with_others(node: RwNode, peek: Any) -> None:
    node.read("a")
    node.write("v", mark_ms=1)
    time.sleep(0.002)
    node.write("w", mark_ms=LONG)

    assert peek.zrange(writers_key(NAME), 0, -1) == ["w"]


def test_after_a_writer_readers_may_come_as_well_as_writers(node: RwNode) -> None:
    node.write("v")
    node.write("w", mark_ms=LONG)
    assert node.read("a")[3] == "v:write"

    node.release("v")

    assert node.read("a")[0] == 1


# --- the restart guard ---------------------------------------------------------------------------


def test_a_node_that_has_just_started_does_not_vote(own_redis: RedisServer) -> None:
    with raw(own_redis.port) as client:
        node = RwNode(client, guarded=True)

        code, _, _, left_ms = node.read("a")

        assert code == node.write("w")[0] == 4
        assert 1000 < left_ms <= LONGEST + 1000
        assert not node.renew("a") and not node.renew("w:write")
        assert node.release("a") == [0]  # to withdraw is allowed
        client.hset(NAME, mapping={"mode": "read", "b": 1})
        client.set(hold_key(NAME, "b"), 1, px=LONG)
        assert node.renew("b")  # what it has, it keeps
