"""Redisson's own state transitions of read/write locks, replayed against our scripts.

`golden.json` holds what Redisson answers, publishes and leaves in the store after each
operation.  Ours must do the same wherever the two mean the same.  They differ on purpose:

- Re-entry is counted in the process, and so is a writer that reads: such steps never reach our
  store (`local`), counts are always 1, and nobody has a second hold key.  Nor does a reader
  that wants to write, or that releases what it wrote: it is told so at once.
- A refused owner is told when the first lease ends, not the last: readers leave one by one.
- A writer that asks again has the lease it asks for, and not the sum of both (D15), and reads
  that end leave it alone (D13a): see `LEFT`.
- A writer that reads on says `1` and `0` (D9, D10).
- Whoever holds nothing says nothing when it releases.
- A hash without a mode belongs to somebody else, who is not overwritten (section 14).

There are no latches, because an owner names one acquisition and is never used again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from interlock import StoreMisconfigured
from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.drive import now, run
from interlock.model import Busy
from interlock.steps import Steps

from .readwrite import CHANNEL, READ, WRITE, hold
from .watching import messages

pytestmark = pytest.mark.server

EVERY = json.loads(Path(__file__).with_name("golden.json").read_text())["cases"]
CASES = [case for case in EVERY if case["case"].startswith("rw: ")]
(CROSS,) = (case for case in EVERY if case["case"].startswith("cross: read lock "))

A, B = "aaaaaaaa-0000-4000-8000-000000000001:1", "bbbbbbbb-0000-4000-8000-000000000002:7"

WRITER = "rw: writer, reentrant TTL addition, nested read, TTL shrink, downgrade"
EXPIRED = "rw: expired per-hold key of a reader is ignored when another reader leaves"
RENEWAL = "rw: renewal touches only the own holds"

#: Milliseconds that are left where ours keep the lease that was asked for.
LEFT = {
    (WRITER, 2): {"k": 9_900},  # D15
    (WRITER, 3): {"k": 9_900},  # D15
    (WRITER, 10): {hold(A): 29_900},  # the lease of the writer that reads on
    (WRITER, 11): {hold(A): 29_900},
}

#: What Java is told when a writer of ours reads on: those that sleep, and one that is about to.
BOTH = [[CHANNEL, "1"], [CHANNEL, "0"]]

#: What ends before a step because time passes.
ENDS = {(EXPIRED, 2): hold(A)}

#: Cases of short leases are played slowly, so that nothing ends because a test is slow.
SLOWER = {EXPIRED: 10, RENEWAL: 10}


class Holds(NamedTuple):
    """How often an owner holds, as Redisson counts."""

    reads: int
    writes: int

    @classmethod
    def of(cls, state: dict[str, Any], owner: str) -> Holds:
        fields = state.get("k", {}).get("value", {})
        return cls(int(fields.get(owner, 0)), int(fields.get(f"{owner}:write", 0)))


class Replay:
    """Our operations under Redisson's names, with Redisson's replies."""

    def __init__(self, url: str) -> None:
        self.link = RedisBackend(UrlFactory(read_url(url))).link()

    def run(self, steps: Steps[Any]) -> Any:
        return run(steps, self.link)

    def perform(self, step: dict[str, Any], slower: int) -> Any:
        params = {key: value for key, value in step["params"].items() if key != "request_id"}
        if "lease_ms" in params:
            params["lease"] = params.pop("lease_ms") * slower / 1000
        return getattr(self, step["op"].removeprefix("rw."))(**params)

    def read_acquire(self, owner: str, lease: float) -> int | None:
        return self._asked(READ.attempt("k", owner, lease, False, now() + 5))

    def write_acquire(self, owner: str, lease: float) -> int | None:
        return self._asked(WRITE.attempt("k", owner, lease, False, now() + 5))

    def _asked(self, steps: Steps[int | Busy]) -> int | None:
        answer = self.run(steps)
        if isinstance(answer, Busy):
            assert answer.left is not None
            return round(answer.left * 1000)
        return None

    def read_release(self, owner: str) -> int | None:
        return 1 if self.run(READ.release("k", owner, now() + 5)) else None

    def write_release(self, owner: str, lease: float) -> int | None:
        return 1 if self.run(WRITE.release("k", owner, now() + 5)) else None

    def read_renew(self, owners: list[str], lease: float) -> list[int]:
        holds = [("k", owner) for owner in owners]
        return [int(each is True) for each in self.run(READ.renew(holds, lease, now() + 5))]

    def downgrade(self, owner: str, lease: float) -> int | None:
        return 1 if self.run(WRITE.downgrade("k", owner, lease, now() + 5)) else None


@pytest.fixture
def replay(redis_url: str) -> Iterator[Replay]:
    replay = Replay(redis_url)
    yield replay
    replay.link.close()


def ours(step: dict[str, Any], before: dict[str, Any]) -> dict[str, Any] | None:
    """The same step as it is for us; None when it does not reach the store."""
    if step["op"] == "rw.read_renew":
        return step
    held = Holds.of(before, step["params"]["owner"])
    holds = Holds.of(step["state"], step["params"]["owner"])
    if held.writes and not holds.writes and holds.reads:
        return {**step, "op": "rw.downgrade", "published": BOTH}  # D9, D10
    if any(held) and any(holds):
        return None
    return step if any(held) or any(holds) or step["reply"] else {**step, "published": []}


def our_state(state: dict[str, Any]) -> dict[str, Any]:
    """Redisson's, where everybody holds once, and in one mode."""
    if "k" not in state:
        return {}
    fields = dict.fromkeys(state["k"]["value"], "1") | {"mode": state["k"]["value"]["mode"]}
    for owner in (A, B):
        if f"{owner}:write" in fields:
            fields.pop(owner, None)
    keys = {key: dict(state[key]) for key in map(hold, fields) if key in state}
    return {"k": {**state["k"], "value": fields}, **keys}


def state_of(peek: Any) -> dict[str, Any]:
    keys = [key for key in peek.keys("*") if not key.startswith("interlock:")]
    return {key: peek.hgetall(key) if peek.type(key) == "hash" else peek.get(key) for key in keys}


def near(found: int, golden: int) -> bool:
    return golden - 4000 < found < golden + 2100


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_transitions_are_redissons(case: dict[str, Any], replay: Replay, peek: Any) -> None:
    before: dict[str, Any] = {}
    slower = SLOWER.get(case["case"], 1)
    with messages(peek, "redisson*") as published:
        for number, step in enumerate(case["steps"]):
            at = (case["case"], number)
            if at in ENDS:
                assert peek.delete(ENDS[at]) == 1
            mine = ours(step, before)
            before = step["state"]
            if mine is None:
                continue
            already = len(published())
            reply = replay.perform(mine, slower)
            assert published()[already:] == [tuple(each) for each in mine["published"]]
            state = our_state(step["state"])
            left = {key: entry["pttl_approx_ms"] * slower for key, entry in state.items()}
            left |= LEFT.get(at, {})
            assert state_of(peek) == {key: entry["value"] for key, entry in state.items()}
            assert all(near(peek.pttl(key), golden) for key, golden in left.items())
            check_reply(mine, reply, left)


def check_reply(step: dict[str, Any], reply: Any, left: dict[str, int]) -> None:
    if step["op"].endswith("acquire") and step["reply"] is not None:
        assert near(reply, min(left.values()))
    elif step["op"].endswith(("release", "downgrade")):
        assert reply == (None if step["reply"] is None else 1)  # 0: others hold it still
    else:
        assert reply == step["reply"]


def test_every_case_reaches_our_store() -> None:
    """The rules above leave enough to compare."""
    reached = []
    for case in CASES:
        before: dict[str, Any] = {}
        for step in case["steps"]:
            reached += [] if (mine := ours(step, before)) is None else [mine["op"]]
            before = step["state"]
    assert len(reached) == 19
    assert set(reached) == {
        "rw.read_acquire",
        "rw.read_release",
        "rw.read_renew",
        "rw.write_acquire",
        "rw.write_release",
        "rw.downgrade",
    }


def test_a_plain_lock_is_not_overwritten_as_redisson_would(replay: Replay, peek: Any) -> None:
    plain, reader, writer = CROSS["steps"]
    assert reader["reply"] is None  # granted by Redisson
    peek.hset("k", mapping=plain["state"]["k"]["value"])
    peek.pexpire("k", plain["params"]["lease_ms"])
    for step in (reader, writer):
        with pytest.raises(StoreMisconfigured, match="in use as a lock"):
            replay.perform(step, 1)
    assert state_of(peek) == {"k": plain["state"]["k"]["value"]}
