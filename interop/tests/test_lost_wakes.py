"""A message is lost, or nobody is awake to act on it: that costs seconds, never more."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from interlock.recipes.lock import POLL_CAP
from tests.support.eventually import eventually
from tests.support.pausing import pause
from tests.support.worlds import World

from ..harness.foreign import Foreign
from ..harness.matrix import TO_THEM, TO_US, meets
from ..harness.peers import Cast
from .looking import SLACK, queue, waiters
from .people import Meeting

pytestmark = meets("Redisson")

#: For how long a lock is handed over to somebody who does not take it.
PROVISIONAL = 2.0

PRIMITIVES = {
    "lock": ("RLock", "lock()"),
    "fair": ("RFairLock", "fair_lock()"),
    "fenced": ("RFencedLock", "fenced_lock()"),
    "read": ("RReadWriteLock", "rwlock()"),
    "write": ("RReadWriteLock", "rwlock()"),
}

PARAMS = [
    pytest.param(kind, marks=meets(primitive=primitive, ours=ours))
    for kind, (primitive, ours) in PRIMITIVES.items()
]


def queued(peek: Any, kind: str, name: str) -> int:
    return len(queue(peek, name)) if kind == "fair" else waiters(peek, name)


@pytest.mark.parametrize("kind", PARAMS)
@meets(direction=TO_US)
def test_our_waiter_that_was_cut_off_finds_out_by_asking(
    kind: str, world: World, redis_url: str, cast: Cast, name: str, peek: Any
) -> None:
    """Java releases while our subscription is being restored."""
    meeting = Meeting(cast, world, redis_url, kind, name)
    java, ours = meeting.java("write" if kind == "read" else ""), meeting.ours()
    java.take()
    ours.seek()
    eventually(lambda: queued(peek, kind, name) == 1)
    assert peek.client_kill_filter(_type="pubsub") >= 1
    java.give()
    ours.turn.result(POLL_CAP + SLACK)
    ours.give()


@pytest.mark.parametrize("kind", [each for each in PARAMS if "fair" not in each.values])
@meets(direction=TO_THEM)
def test_java_is_held_up_by_our_paused_waiter_for_two_seconds_at_most(
    kind: str, our_victim: Foreign, world: World, redis_url: str, cast: Cast, name: str, peek: Any
) -> None:
    """It is handed the lock and does not take it; then it is Java's turn."""
    meeting = Meeting(cast, world, redis_url, kind, name)
    rival = "write" if kind == "read" else kind
    holder, java = meeting.ours(rival), meeting.java(rival)
    holder.take()
    what = "fenced_lock" if kind == "fenced" else kind
    waiting = our_victim.start(verb="acquire", kind=what, name=name, handle="h")
    eventually(lambda: waiters(peek, name) == 1)
    java.seek()
    eventually(lambda: java.parked)
    pause(our_victim.pid)
    holder.give()
    java.turn.result(PROVISIONAL + SLACK)
    os.kill(our_victim.pid, signal.SIGCONT)
    java.give()
    assert waiting.result(POLL_CAP + SLACK)
    our_victim.ask(verb="release", handle="h")
