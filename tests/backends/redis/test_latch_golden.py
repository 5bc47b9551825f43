"""Redisson's own state transitions of a latch, replayed against our scripts.

The table holds what Redisson's latch answers, publishes and leaves in the store after each
operation; ours must do the same.  Only `countDown` says more: how many are left.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.backends.redis.latches import RedisLatches
from interlock.drive import now, run

from .counted import LATCH_CHANNEL
from .watching import messages

pytestmark = pytest.mark.server


class Step(NamedTuple):
    """An operation of Redisson's, what it answered and said, and the count after it."""

    verb: str
    number: int
    reply: int | None
    said: list[str]
    left: str | None


STEPS = [
    Step("count_down", 1, None, [], None),
    Step("try_set", 2, 1, ["1"], "2"),
    Step("try_set", 9, 0, [], "2"),
    Step("count_down", 1, None, [], "1"),
    Step("count_down", 1, None, ["0"], None),
    Step("try_set", 1, 1, ["1"], "1"),
    Step("delete", 1, 1, ["1"], None),
    Step("try_set", 0, 1, ["1"], "0"),
    Step("count_down", 1, None, [], None),
]


class Replay:
    """Our operations, with Redisson's replies."""

    def __init__(self, url: str, peek: Any) -> None:
        self.link = RedisBackend(UrlFactory(read_url(url))).link()
        self.store, self.peek = RedisLatches("test"), peek
        self._owners = (f"6e3814a1-e847-852b-a982-000000000000:{i}9" for i in itertools.count())

    def try_set(self, count: int) -> int:
        return int(run(self.store.set_count("k", count, now() + 5), self.link))

    def count_down(self, count: int) -> None:
        left = run(self.store.count_down("k", next(self._owners), now() + 5), self.link)
        assert left == int(self.peek.get("k") or 0)

    def delete(self, count: int) -> int:
        """Java's: ours are counted down to their end."""
        existed: int = self.peek.delete("k")
        self.peek.publish(LATCH_CHANNEL, "1")
        return existed


@pytest.fixture
def replay(redis_url: str, peek: Any) -> Iterator[Replay]:
    replay = Replay(redis_url, peek)
    yield replay
    replay.link.close()


def test_countdown_latch_is_redissons(replay: Replay, peek: Any) -> None:
    with messages(peek, "redisson*") as published:
        for step in STEPS:
            already = len(published())
            assert getattr(replay, step.verb)(step.number) == step.reply, step
            said = [(LATCH_CHANNEL, word) for word in step.said]
            assert published()[already:] == said, step
            assert peek.get("k") == step.left, step
            assert peek.pttl("k") in (-1, -2), step
