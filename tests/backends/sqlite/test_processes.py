"""Processes of one machine exclude each other, in order, and survive each other's end."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import interlock
from interlock.backends.sqlite.transport.records import ALIVE_MS
from interlock.model import PROVISIONAL
from interlock.recipes.lock import POLL_CAP

from ...processes.people import Program, Worker
from .raw import ask, until

PROGRAMS = Path(__file__).parent / "programs"

#: A waiter that is not woken asks again after this many seconds, and no sooner.
EARLIEST_POLL = POLL_CAP / 2


def waiting(path: Path) -> int:
    """How many wait."""
    return int(ask(path, "SELECT count(*) FROM queue")[0][0])


def test_processes_of_both_worlds_count_right(url: str, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    with ExitStack() as stack:
        crowd = [
            stack.enter_context(Program(str(PROGRAMS / "counts"), world, url, str(counter), "60"))
            for world in ("threads", "tasks", "threads", "tasks")
        ]

        for each in crowd:
            each.expect("done", within=60)

    assert counter.read_text() == "240"


def test_processes_are_served_in_the_order_of_their_arrival(
    url: str, path: Path, worker: Callable[[], Worker]
) -> None:
    holder, *others = (worker() for _ in range(5))
    holder.acquire("k")
    for place, each in enumerate(others, 1):
        each.wait("k")
        assert waiting(path) == place
    served: list[int] = []

    holder.release()
    for each in others:
        each.expect("held")
        served.append(int(each.ask("token")))
        assert waiting(path) == len(others) - len(served)
        each.release()

    assert served == sorted(served)


def test_a_late_comer_does_not_overtake(
    client: interlock.Client, worker: Callable[[], Worker]
) -> None:
    waiter = worker()
    hold = client.lock("k").acquire()
    waiter.wait("k")

    hold.release()

    assert client.lock("k").acquire(blocking=False) is None
    waiter.expect("held")


def test_a_wake_comes_long_before_the_poll(
    client: interlock.Client, worker: Callable[[], Worker]
) -> None:
    waiter, delays = worker(), []
    for _ in range(5):
        hold = client.lock("k").acquire()
        waiter.wait("k")
        hold.release()
        delays.append(waiter.expect("held"))
        waiter.release()

    assert sorted(delays)[2] < EARLIEST_POLL / 4
    assert max(delays) < EARLIEST_POLL


def test_a_killed_holder_frees_the_lock_after_its_lease(
    client: interlock.Client, worker: Callable[[], Worker]
) -> None:
    holder = worker()
    asked = time.monotonic()
    holder.acquire("k", lease=1.0)
    holder.kill()

    assert client.lock("k").acquire(blocking=False) is None
    client.lock("k").acquire(timeout=5)

    # A renewal may have made the lease whole once more.
    assert 0.99 < time.monotonic() - asked < 3.0


def test_a_killed_waiter_holds_up_the_next_for_a_provisional_lease_at_most(
    client: interlock.Client, worker: Callable[[], Worker]
) -> None:
    victim, waiter = worker(), worker()
    hold = client.lock("k").acquire()
    victim.wait("k")
    waiter.wait("k")
    victim.kill()

    hold.release()

    assert waiter.expect("held") < PROVISIONAL + 1.0


def test_a_waiter_that_is_silent_for_long_is_passed_over(
    client: interlock.Client, path: Path, worker: Callable[[], Worker]
) -> None:
    victim, waiter = worker(), worker()
    hold = client.lock("k").acquire()
    victim.wait("k")
    waiter.wait("k")
    victim.pause()
    ask(path, "UPDATE queue SET alive_ms = alive_ms - ? WHERE place = 1", ALIVE_MS)

    hold.release()

    assert waiter.expect("held") < EARLIEST_POLL
    victim.resume()
    waiter.release()
    victim.expect("held")


def test_a_waiter_shows_that_it_is_alive_with_every_question(
    client: interlock.Client, path: Path, worker: Callable[[], Worker]
) -> None:
    with client.lock("k"):
        worker().wait("k")
        seen = ask(path, "SELECT alive_ms FROM queue")

        until(lambda: ask(path, "SELECT alive_ms FROM queue") > seen)

        assert waiting(path) == 1


def test_a_process_that_is_stopped_in_a_transaction_is_named_as_the_likely_cause(
    client: interlock.Client, path: Path, hasty: None
) -> None:
    with client.lock("k"):
        pass
    with Program(str(PROGRAMS / "stops"), str(path)) as stopped:
        stopped.expect("in the middle")
        stopped.pause()

        try:
            client.lock("k", timeout=0).acquire()
            raise AssertionError("it was granted past a transaction")
        except interlock.StoreUnavailable as failure:
            assert "a stopped process" in str(failure)

        stopped.resume()
        stopped.tell("go on")
        with client.lock("k", timeout=5):
            pass


def test_a_process_killed_in_a_transaction_leaves_nothing(
    client: interlock.Client, path: Path
) -> None:
    with client.lock("k"):
        pass
    with Program(str(PROGRAMS / "stops"), str(path)) as victim:
        victim.expect("in the middle")
        victim.kill()

        with client.lock("k", timeout=5):
            assert ask(path, "SELECT name FROM records WHERE name = 'spoilt'") == []
