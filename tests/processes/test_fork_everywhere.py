"""What a forked child is told, on every store."""

from __future__ import annotations

import pytest

from tests.support.servers import RedisServer
from tests.support.stores import ADDED, STORES

from .people import Program

#: Seconds in which an answer arrives that no other process has taken.
QUICK = 2.0

CLOSED = "this client is closed; make another one"


@pytest.fixture(params=list(STORES))
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(request: pytest.FixtureRequest, backend: str) -> str:
    return STORES[backend](request.getfixturevalue)


def test_a_client_that_was_closed_before_the_fork_is_closed_in_the_child(url: str) -> None:
    with Program("closed_before", url) as parent:
        parent.expect(f"thread: {CLOSED}")
        parent.expect(f"task: {CLOSED}")
        parent.expect("child 0")

        assert parent.ended() == 0
        assert parent.complaint() == ""


@pytest.mark.slow
@pytest.mark.parametrize("work", ["pair", "look", "line"])
def test_a_child_that_returns_into_a_call_is_refused_at_once_and_disturbs_nobody(
    url: str, backend: str, work: str
) -> None:
    with Program("returns", work, url, *ADDED[backend]) as family:
        family.expect("struck in many places", within=100)
        family.expect("children were refused")

        assert family.ended() == 0
        assert family.complaint() == ""


def test_a_child_that_returns_into_the_wait_for_an_answer_leaves_it_to_its_parent(
    own_redis: RedisServer,
) -> None:
    with Program("forks_waiting", own_redis.url) as family:
        family.expect("ready")
        own_redis.pause()
        family.tell("go on")

        assert family.expect("child: this call belongs to the parent process") < QUICK
        own_redis.resume()

        assert family.expect("held by parent") < QUICK
        family.expect("child 0")
        assert family.ended() == 0
