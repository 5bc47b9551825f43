"""Redisson's fair lock, replayed against our scripts: the same queue, scores and messages.

The owners are Java's, so that nothing of what we do for our own waiters comes into it.  Two
answers differ on purpose: a waiter of ours is told how long the *lock* is held, because it
asks again soon in any case; and whoever releases a lock that has vanished is told so (D26).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.model import Busy

from .fairness import QUEUE, SCORES, Desk
from .watching import messages

pytestmark = pytest.mark.server

ALL = json.loads(Path(__file__).with_name("golden.json").read_text())["cases"]
CASES = [case for case in ALL if case["case"].startswith("fair:")]

#: What the clock of the golden cases may differ by, in ms: it stands still, ours does not.
SLACK = 400


class Replay:
    """Our operations under Redisson's names, on a clock that is set to Redisson's."""

    def __init__(self, desk: Desk, now_ms: int) -> None:
        self.desk, self._now = desk, now_ms
        self.offset = desk.clock() - now_ms

    def perform(self, step: dict[str, Any]) -> bool | None:
        self._pass_time(step["params"].get("now_ms", self._now))
        verb = step["op"].split()[0].replace(".", "_")
        terms = {word: given for word, given in step["params"].items() if word != "request_id"}
        outcome: bool | None = getattr(self, verb)(**terms)
        return outcome

    def _pass_time(self, now_ms: int) -> None:
        """A leap of the golden clock makes every score that much older."""
        if now_ms - self._now > SLACK:
            self.desk.age((now_ms - self._now) / 1000)
            self.offset -= now_ms - self._now
        self._now = max(now_ms, self._now)

    def fair_acquire_or_enqueue(
        self, owner: str, wait_ms: int, lease_ms: int, now_ms: int
    ) -> bool:
        answer = self.desk.ask(owner, wait=wait_ms / 1000, lease=lease_ms / 1000)
        return not isinstance(answer, Busy)

    def fair_try_once(self, owner: str, wait_ms: int, lease_ms: int, now_ms: int) -> bool:
        return self.desk.gets(owner, waits=False, lease=lease_ms / 1000)

    def fair_release(self, owner: str, now_ms: int) -> bool:
        return self.desk.release(owner)

    def fair_give_up(self, owner: str, wait_ms: int) -> None:
        self.desk.withdraw(owner, wait_ms / 1000)

    def raw_del(self) -> None:
        self.desk.peek.delete("k")


def expected(step: dict[str, Any]) -> bool | None:
    """Redisson's reply, as yes or no; None where there is neither."""
    if step["op"] == "fair.acquire_or_enqueue":
        return bool(step["reply"] is None)
    if step["op"] == "fair.release":
        return bool(step["reply"] == 1)
    return False if step["op"] == "fair.try_once" else None


def without_latches(state: dict[str, Any]) -> dict[str, Any]:
    """Ours need none: an owner is never used again, so that a release may be repeated."""
    return {key: entry for key, entry in state.items() if "_latch:" not in key}


def vanished(case: dict[str, Any], step: dict[str, Any]) -> bool:
    """Whether this is a release of a lock that is not there: ours says so."""
    return step["op"] == "fair.release" and "gone" in case["case"]


@pytest.fixture
def desk(redis_url: str, peek: Any) -> Iterator[Desk]:
    desk = Desk(redis_url, peek)
    yield desk
    desk.link.close()


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_transitions_are_redissons(case: dict[str, Any], desk: Desk) -> None:
    replay = Replay(desk, case["steps"][0]["params"]["now_ms"])
    with messages(desk.peek, "redisson*", "interlock*") as published:
        for step in case["steps"]:
            already = len(published())
            outcome = replay.perform(step)
            assert outcome == (False if vanished(case, step) else expected(step)), step["op"]
            assert published()[already:] == [tuple(each) for each in step["published"]]
            check_state(without_latches(step["state"]), desk, replay.offset)


def check_state(golden: dict[str, Any], desk: Desk, offset: int) -> None:
    empty: dict[str, Any] = {"value": []}
    assert {key for key in desk.peek.keys("*") if "interlock:" not in key} == set(golden)
    assert desk.peek.hgetall("k") == dict(golden.get("k", empty)["value"])
    assert desk.queue() == golden.get(QUEUE, empty)["value"]
    for owner, score in golden.get(SCORES, empty)["value"]:
        assert abs(desk.peek.zscore(SCORES, owner) - offset - score) < SLACK
    for key, entry in golden.items():
        approximately = entry["pttl_approx_ms"]
        assert approximately - 600 < desk.peek.pttl(key) < approximately + 300
