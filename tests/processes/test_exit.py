"""The interpreter ends: what was held is released, and nothing hangs."""

from __future__ import annotations

import inspect
import time

import pytest

import interlock
from interlock.testing.contract import KINDS
from tests.support.servers import RedisServer

from .people import Program
from .programs import exits

#: Seconds within which a process must be gone, whatever happens to the store.
QUICK = 2.0

WAYS = {
    name: {"by_exit": 3, "inside_a_block": 3, "by_error": 1}.get(name, 0)
    for name, member in vars(exits).items()
    if inspect.isfunction(member) and name != "when_told"
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_held_is_released_when_the_interpreter_ends(
    url: str, onlooker: interlock.Client, way: str
) -> None:
    with Program("exits", url, way) as program:
        assert program.ended() == WAYS[way]

        for name in ("claim", "claim:199", "busy"):
            assert onlooker.lock(name).acquire(blocking=False) is not None, name
        error = "ZeroDivisionError" if way == "by_error" else ""
        assert program.complaint().strip().rpartition("\n")[2] == error


@pytest.mark.parametrize("kind", KINDS)
def test_a_daemon_that_waits_at_the_end_leaves_the_queue(
    url: str, onlooker: interlock.Client, kind: str
) -> None:
    with KINDS[kind](onlooker, "claim"), Program("daemons", url, kind) as program:
        assert program.ended() == 0
        assert program.complaint() == ""

        info = onlooker.inspect("claim")
        assert info is not None
        assert info.waiters == 0


def test_a_daemon_that_waits_for_a_latch_at_the_end_leaves_the_queue(
    url: str, onlooker: interlock.Client
) -> None:
    onlooker.latch("claim").start(1)
    with Program("daemons", url, "latch") as program:
        assert program.ended() == 0

        info = onlooker.inspect("claim")
        assert info is not None
        assert info.waiters == 0


@pytest.mark.parametrize("trouble", ["killed", "paused"])
def test_the_interpreter_ends_though_the_server_is_gone(
    own_redis: RedisServer, trouble: str
) -> None:
    with Program("exits", own_redis.url, "when_told") as program:
        program.expect("held")
        if trouble == "killed":
            own_redis.kill()
        else:
            own_redis.pause()

        program.tell("end")
        began = time.monotonic()
        assert program.ended() == 0

        assert time.monotonic() - began < QUICK
        assert program.complaint() == ""


def test_the_interpreter_ends_quickly(url: str) -> None:
    with Program("exits", url, "when_told") as program:
        program.expect("held")

        program.tell("end")
        began = time.monotonic()
        assert program.ended() == 0

        assert time.monotonic() - began < QUICK


def test_a_waiting_thread_of_the_program_delays_its_end_as_python_does(url: str) -> None:
    """A thread that is no daemon is waited for; once it has the lock, the program ends."""
    with interlock.connect(url) as holder, Program("waits", url) as program:
        with holder.lock("claim"):
            program.expect("parked")
        assert program.ended() == 0

        assert holder.lock("claim").acquire(blocking=False) is not None
