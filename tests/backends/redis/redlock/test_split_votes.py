"""Votes that are split while a node hangs: the others go on; and clients share a busy lock."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from interlock.backends.redis.redlock.meeting import SILENT, Meeting
from interlock.backends.redis.redlock.votes import Unawaited
from interlock.errors import StoreUnavailable
from interlock.steps import Call
from tests.support.redlocks import RedlockServers

from ....support.worlds import World

pytestmark = pytest.mark.server

#: What a question takes that waits for a node that hangs until it gives up.
TIMEOUT = 5.0


def test_split_votes_do_not_wait_for_a_node_that_hangs(
    world: World, own_redlock: RedlockServers
) -> None:
    client = _client_that_has_met_all(world, own_redlock)
    _vote_for_another_program(own_redlock)
    own_redlock[4].pause()
    began = time.monotonic()

    assert world.do(client.mutex("name").try_acquire) is None

    assert time.monotonic() - began < TIMEOUT / 2
    own_redlock[4].resume()


def test_a_release_that_a_majority_has_executed_waits_for_no_node_that_hangs(
    world: World, own_redlock: RedlockServers
) -> None:
    client = _client_that_has_met_all(world, own_redlock)
    _vote_for_another_program(own_redlock)
    hold = world.do(client.mutex("name", lease=30).acquire)
    own_redlock[4].pause()
    began = time.monotonic()

    world.do(hold.release)

    assert time.monotonic() - began < TIMEOUT / 2
    own_redlock[4].resume()


def test_a_busy_lock_goes_from_hand_to_hand_while_a_node_hangs(
    world: World, own_redlock: RedlockServers
) -> None:
    clients = [_client_that_has_met_all(world, own_redlock) for _ in range(3)]
    own_redlock[4].pause()
    began = time.monotonic()

    _contend(world, clients, lambda shares: shares.total() >= 100)

    assert time.monotonic() - began < 20  # were split votes to wait for the node, a minute
    own_redlock[4].resume()


def test_each_client_gets_its_share_of_a_busy_lock(
    world: World, own_redlock: RedlockServers
) -> None:
    clients = [_client_that_has_met_all(world, own_redlock) for _ in range(3)]

    shares = _contend(world, clients, lambda shares: shares.total() >= 300)

    assert min(shares[number] for number in range(3)) >= 20


def test_a_node_that_answers_late_does_not_count_as_hanging() -> None:
    meeting, calls = Meeting(3), [Call(None, (), (), 9.0, node) for node in range(3)]
    replies = [[1], [1], None]
    meeting.asked(calls, 1.0)
    assert meeting.patience(calls, replies) == 1.0 + SILENT

    meeting.asked(calls, 2.0)
    assert meeting.patience(calls, replies) == 1.0 + SILENT  # it has hung since then

    meeting.heard(2, 2.1)
    assert meeting.patience(calls, replies) == 2.1 + SILENT


def test_a_node_that_has_failed_is_waited_for_when_it_is_asked_again() -> None:
    meeting, calls = Meeting(3), [Call(None, (), (), 9.0, node) for node in range(3)]
    meeting.asked(calls, 1.0)
    for node, reply in enumerate(([1], [1], StoreUnavailable("it is dead"))):
        meeting.noted(node, reply, 1.1)

    meeting.asked(calls, 2.0)

    assert meeting.patience(calls, [[1], [1], None]) == 2.0 + SILENT


def test_a_node_whose_answer_was_not_awaited_goes_on_hanging() -> None:
    meeting, calls = Meeting(3), [Call(None, (), (), 9.0, node) for node in range(3)]
    meeting.asked(calls, 1.0)
    for node, reply in enumerate(([1], [1], Unawaited("the answer was not awaited"))):
        meeting.noted(node, reply, 1.1)

    meeting.asked(calls, 2.0)

    assert meeting.patience(calls, [[1], [1], None]) == 1.0 + SILENT


def test_without_a_majority_every_node_is_waited_for() -> None:
    meeting, calls = Meeting(3), [Call(None, (), (), 9.0, node) for node in range(3)]
    meeting.asked(calls, 1.0)

    assert meeting.patience(calls, [[1], None, None]) == float("inf")


def _client_that_has_met_all(world: World, servers: RedlockServers) -> Any:
    """Its first question waits for all nodes."""
    client = world.connect(servers.url())
    world.do(world.do(client.mutex("met").acquire).release)
    return client


def _vote_for_another_program(servers: RedlockServers) -> None:
    for client in servers.clients[:2]:
        client.set("name", "another", px=60_000)


def _contend(
    world: World, clients: list[Any], enough: Callable[[Counter[int]], bool]
) -> Counter[int]:
    """How often each client has had the lock, which four threads or tasks of each want."""
    shares: Counter[int] = Counter()

    def take_turns(number: int) -> Any:
        lock = clients[number].lock("hot", lease=10)
        take = _take if world.name == "threads" else _atake
        return take(lock, number, shares, enough)

    waiting = [world.start(partial(take_turns, number)) for number in (0, 1, 2) * 4]
    for each in waiting:
        each.result(60)
    return shares


def _take(lock: Any, number: int, shares: Counter[int], enough: Any) -> None:
    while not enough(shares):
        with lock:
            shares[number] += 1


async def _atake(lock: Any, number: int, shares: Counter[int], enough: Any) -> None:
    while not enough(shares):
        async with lock:
            shares[number] += 1
