"""Counting down while others do, decided without a server."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any, NamedTuple

import pytest

from interlock import OutcomeUnknown
from interlock.backends.zookeeper.latches import REMEMBERED, LatchCount, ZkLatches, read_latch
from interlock.backends.zookeeper.namespace import Namespace
from interlock.backends.zookeeper.transport.requests import (
    Answer,
    Children,
    Delete,
    Get,
    Put,
    Refusal,
    ZkRequest,
)


class Stat(NamedTuple):
    version: int
    czxid: int


class FakeSession:
    session_timeout = 10.0

    def alive_since(self, asked: float) -> float:
        return asked


OWNER = "0190f1a2-0000-8000-8000-000000000000:19"
PATH = "/c/k/latch%"


def latches() -> ZkLatches:
    return ZkLatches(Namespace("here", "/c", {}, FakeSession()))


def seen(left: int, version: int = 0, born: int = 1) -> Answer:
    return Answer((LatchCount(left).packed(), Stat(version, born)), 7)


def asks(request: Any) -> list[ZkRequest]:
    return [call.operation for call in request.calls]


def counting(store: ZkLatches, first: Answer) -> tuple[Generator[Any, Any, int], list[ZkRequest]]:
    """A count that has seen a latch, and what it asks then."""
    steps = store.count_down("k", OWNER, 1.0)
    assert asks(next(steps)) == [Children("/c/k"), Get(PATH)]
    return steps, asks(steps.send([Answer(["latch%"], 7), first]))


def outcome(steps: Generator[Any, Any, int], *replies: Any) -> int:
    with pytest.raises(StopIteration) as end:
        steps.send(list(replies))
    left: int = end.value.value
    return left


def test_count_is_made_again_of_what_somebody_quicker_has_left() -> None:
    steps, (put, _) = counting(latches(), seen(5, version=3))
    assert isinstance(put, Put)
    assert put.version == 3

    again, _ = asks(steps.send([Answer(Refusal.CHANGED, 7), seen(4, version=4)]))

    assert isinstance(again, Put)
    assert again.version == 4
    assert read_latch(again.data) == LatchCount(3, (latest(again),))
    assert outcome(steps, Answer(Stat(5, 1), 7), seen(3)) == 3


def latest(put: Put) -> str:
    counted: str = json.loads(put.data)["counted"][-1]
    return counted


def test_last_count_does_not_take_away_what_has_changed() -> None:
    steps, (delete, _) = counting(latches(), seen(1, version=6))
    assert delete == Delete(PATH, 6)

    again, _ = asks(steps.send([Answer(Refusal.CHANGED, 7), seen(2, version=0, born=1)]))

    assert isinstance(again, Put)


def test_last_count_that_comes_too_late_finds_the_latch_down() -> None:
    steps, _ = counting(latches(), seen(1))

    assert outcome(steps, Answer(Refusal.MISSING, 7), Answer(Refusal.MISSING, 7)) == 0


def test_count_in_doubt_is_not_counted_in_the_next_latch() -> None:
    store = latches()
    steps, _ = counting(store, seen(1, born=1))
    with pytest.raises(OutcomeUnknown):
        steps.throw(OutcomeUnknown("lost"))

    again = store.count_down("k", OWNER, 1.0)
    next(again)

    assert outcome(again, Answer(["latch%"], 7), seen(3, born=2)) == 0


def test_count_that_was_written_down_is_not_counted_again() -> None:
    store = latches()
    _, (put, _) = counting(store, seen(5))
    assert isinstance(put, Put)

    again = store.count_down("k", OWNER, 1.0)
    next(again)

    assert outcome(again, Answer(["latch%"], 7), Answer((put.data, Stat(1, 1)), 7)) == 4


def test_only_the_last_who_counted_are_remembered() -> None:
    count = LatchCount(REMEMBERED + 10)
    for number in range(REMEMBERED + 1):
        count = count.less(str(number))

    assert count.left == 9
    assert (count.counted[0], len(count.counted)) == ("1", REMEMBERED)
    assert read_latch(count.packed()) == count
