"""Holders and waiters are killed and put to sleep; the others get on within a known time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import interlock
from interlock.model import PROVISIONAL

from .people import Worker

#: What a loaded machine may add to any time.
SLACK = 1.0


def test_a_killed_holder_delays_the_next_by_no_more_than_its_lease(
    worker: Callable[[], Worker],
) -> None:
    first, second = worker(), worker()
    first.acquire(lease=0.8)
    second.wait()

    first.kill()
    took = second.expect("held")

    assert took < 0.8 + SLACK


def test_a_killed_holder_keeps_the_lock_while_its_lease_lasts(
    worker: Callable[[], Worker], onlooker: interlock.Client
) -> None:
    first = worker()
    first.acquire(lease=2)

    first.kill()

    assert onlooker.lock("claim").acquire(blocking=False) is None


def test_a_holder_that_slept_too_long_knows_it_at_once(
    worker: Callable[[], Worker], onlooker: interlock.Client
) -> None:
    sleeper, second = worker(), worker()
    sleeper.acquire(lease=0.5)
    token = int(sleeper.ask("token"))
    second.wait()

    sleeper.pause()
    second.expect("held")
    sleeper.tell("lost")  # the first thing that it will read when it wakes up
    sleeper.resume()

    assert sleeper.hear() == "True"
    assert sleeper.ask("release") == "LockLost"
    assert second.ask("lost") == "False"
    assert int(second.ask("token")) > token
    assert onlooker.lock("claim").acquire(blocking=False) is None
    second.release()
    assert onlooker.lock("claim").acquire(blocking=False) is not None


def test_a_holder_that_slept_within_its_lease_goes_on(
    worker: Callable[[], Worker], onlooker: interlock.Client
) -> None:
    sleeper = worker()
    sleeper.acquire(lease=2)

    sleeper.pause()
    time.sleep(0.5)
    sleeper.resume()

    assert sleeper.ask("lost") == "False"
    assert onlooker.lock("claim").acquire(blocking=False) is None
    sleeper.release()


def test_a_sleeping_waiter_costs_the_next_one_provisional_lease(
    worker: Callable[[], Worker],
) -> None:
    holder, sleeper, third = worker(), worker(), worker()
    holder.acquire()
    sleeper.wait()
    third.wait()

    sleeper.pause()
    holder.release()
    took = third.expect("held")
    sleeper.resume()

    assert took < PROVISIONAL + SLACK
    third.release()
    sleeper.expect("held")
    assert sleeper.ask("lost") == "False"
    sleeper.release()


def test_a_killed_waiter_costs_the_next_no_more_than_a_sleeping_one(
    worker: Callable[[], Worker],
) -> None:
    holder, dead, third = worker(), worker(), worker()
    holder.acquire()
    dead.wait()
    third.wait()

    dead.kill()
    holder.release()

    assert third.expect("held") < PROVISIONAL + SLACK


def test_killed_waiters_cost_nothing_on_redis(redis_url: str) -> None:
    with ExitStack() as stack:
        holder, *dead, third = [stack.enter_context(Worker(redis_url)) for _ in range(5)]
        holder.acquire()
        for each in (*dead, third):
            each.wait()

        for each in dead:
            each.kill()
        holder.release()

        assert third.expect("held") < SLACK


def test_waiters_of_several_processes_are_served_in_order(
    worker: Callable[[], Worker],
) -> None:
    holder, *waiters = (worker() for _ in range(4))
    holder.acquire()
    for each in waiters:
        each.wait()

    holder.release()

    for each in waiters:
        each.expect("held")
        each.release()


def test_a_killed_holder_is_followed_by_the_first_in_the_queue(
    worker: Callable[[], Worker],
) -> None:
    holder, *waiters = (worker() for _ in range(3))
    holder.acquire(lease=0.5)
    for each in waiters:
        each.wait()

    holder.kill()

    for each in waiters:
        each.expect("held")
        each.release()
