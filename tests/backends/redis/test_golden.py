"""Redisson's own state transitions, replayed against our scripts.

`golden.json` holds what Redisson's lock leaves in the store after each operation.  Ours must
leave the same wherever the two mean the same.  They differ on purpose in three points, which
`ours` spells out: an owner is one acquisition, so that a second acquire by the same owner is
a repetition and not a second hold; reentrancy is counted in the process, so that a partial
release never reaches the store; and a release needs no latch to be repeated, because its
owner is never used again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.drive import now, run
from interlock.model import Busy

from .watching import messages

pytestmark = pytest.mark.server

EVERY = json.loads(Path(__file__).with_name("golden.json").read_text())["cases"]
CASES = [case for case in EVERY if case["case"].startswith("lock:")]

LATCH = "redisson_unlock_latch:"
OURS = "interlock:"


class Replay:
    """Our operations under Redisson's names, with Redisson's replies."""

    def __init__(self, url: str, peek: Any) -> None:
        self._backend, self._peek = RedisBackend(UrlFactory(read_url(url))), peek
        self._link, self._store = self._backend.link(), self._backend.locks

    def close(self) -> None:
        self._link.close()

    def perform(self, step: dict[str, Any]) -> Any:
        verb = step["op"].removeprefix("lock.")
        return getattr(self, verb)(**step["params"])

    def try_acquire(self, owner: str, lease_ms: int) -> int | None:
        steps = self._store.attempt("k", owner, lease_ms / 1000, False, now() + 5)
        answer = run(steps, self._link)
        if isinstance(answer, Busy):
            assert answer.left is not None
            return round(answer.left * 1000)
        assert answer > 0
        return None

    def release(self, owner: str, **_: Any) -> int | None:
        return 1 if run(self._store.release("k", owner, now() + 5), self._link) else None

    def renew(self, owner: str, lease_ms: int) -> list[int]:
        steps = self._store.renew([("k", owner)], lease_ms / 1000, now() + 5)
        return [int(answer is True) for answer in run(steps, self._link)]

    def force_unlock(self) -> int:
        """An operator's, or Java's: this one is not ours."""
        existed: int = self._peek.delete("k")
        if existed:
            self._peek.publish("redisson_lock__channel:{k}", "0")
        return existed


@pytest.fixture
def replay(redis_url: str, peek: Any) -> Iterator[Replay]:
    replay = Replay(redis_url, peek)
    yield replay
    replay.close()


def local(step: dict[str, Any]) -> bool:
    """Whether Interlock would not ask the store at all: a release that is not the last."""
    return bool(step["op"] == "lock.release" and step["reply"] == 0)


def ours(step: dict[str, Any]) -> dict[str, Any]:
    """What our store must look like after a step: Redisson's, without latch and count."""
    state = {key: dict(entry) for key, entry in step["state"].items() if LATCH not in key}
    for entry in state.values():
        entry["value"] = dict.fromkeys(entry["value"], "1")
    return state


def state_of(peek: Any) -> dict[str, Any]:
    keys = [key for key in peek.keys("*") if not key.startswith(OURS)]
    return {key: {"type": peek.type(key), "value": peek.hgetall(key)} for key in keys}


def repeated(case: dict[str, Any], step: dict[str, Any]) -> bool:
    """Whether Redisson answers from its latch: the same request was executed before."""
    before = case["steps"][: case["steps"].index(step)]
    request = step["params"].get("request_id")
    return any(request and request == each["params"].get("request_id") for each in before)


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_transitions_are_redissons(case: dict[str, Any], replay: Replay, peek: Any) -> None:
    with messages(peek, "redisson*") as published:
        for step in case["steps"]:
            if local(step):
                continue
            already = len(published())
            reply = replay.perform(step)
            again = repeated(case, step)
            check_reply(reply, None if again else step["reply"])
            assert published()[already:] == [tuple(each) for each in step["published"]]
            check_state(ours(step), peek)


def check_reply(reply: Any, golden: Any) -> None:
    if isinstance(golden, int) and golden > 1:  # what is left of a lease
        assert golden - 500 < reply < golden + 100
    else:
        assert reply == golden


def check_state(golden: dict[str, Any], peek: Any) -> None:
    left = {key: entry.pop("pttl_approx_ms") for key, entry in golden.items()}
    assert state_of(peek) == golden
    for key, approximately in left.items():
        assert approximately - 500 < peek.pttl(key) < approximately + 200
