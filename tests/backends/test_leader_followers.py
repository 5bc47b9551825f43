"""Of the threads that wait, one leads: it asks for all, and hands the lead on when it goes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

import pytest

from interlock.drive import now
from interlock.parking import LeaderFollowers, WaitingThread

from ..support.eventually import eventually
from .handlers import Handler


class Source:
    """What the leader asks: it wakes the threads that a test has named."""

    def __init__(self, nested: bool = False) -> None:
        self.threads = LeaderFollowers(self._lead, nested)
        self.leaders: list[str] = []
        self.news: list[WaitingThread] = []
        self.failure: BaseException | None = None
        self.handler: Callable[[], None] | None = None

    def _lead(self, leader: WaitingThread, until: float) -> None:
        self.leaders.append(threading.current_thread().name)
        handler, self.handler = self.handler, None
        if handler is not None:
            handler()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        while self.news:
            self.news.pop().wake()
        leader.pause(min(0.001, until - now()))

    def parked(self, waiter: WaitingThread, name: str, seconds: float = 10.0) -> Future[bool]:
        """A thread that waits."""
        outcome: Future[bool] = Future()

        def wait() -> None:
            try:
                outcome.set_result(self.threads.park(waiter, now() + seconds))
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=wait, name=name, daemon=True).start()
        eventually(lambda: waiter in self.threads.parked or outcome.done())
        return outcome


@pytest.fixture
def source() -> Source:
    return Source()


def nobody_is_left(threads: LeaderFollowers) -> bool:
    return not threads.parked and threads._leader is None


def test_the_leader_wakes_a_follower_and_goes_on_leading(source: Source) -> None:
    first, second = WaitingThread(), WaitingThread()
    leader, follower = source.parked(first, "first"), source.parked(second, "second")

    source.news.append(second)

    assert follower.result(5) is True
    assert set(source.leaders) == {"first"}
    first.wake()
    assert leader.result(5) is True
    assert nobody_is_left(source.threads)


@pytest.mark.parametrize("ending", ["woken", "failed"])
def test_when_the_leader_goes_a_follower_leads(source: Source, ending: str) -> None:
    first, second = WaitingThread(), WaitingThread()
    leader, follower = source.parked(first, "first"), source.parked(second, "second")

    if ending == "woken":
        first.wake()
        assert leader.result(5) is True
    else:
        source.failure = RuntimeError("the source is gone")
        with pytest.raises(RuntimeError, match="gone"):
            leader.result(5)
    source.news.append(second)

    assert follower.result(5) is True
    assert source.leaders[-1] == "second"
    assert nobody_is_left(source.threads)


def test_an_heir_that_was_woken_itself_leaves_the_lead_to_the_next(source: Source) -> None:
    waiters = [WaitingThread() for _ in range(10)]
    waiting = [source.parked(each, f"thread-{i}") for i, each in enumerate(waiters)]

    source.news.extend(waiters[:-1])

    assert [each.result(5) for each in waiting[:-1]] == [True] * 9
    source.news.append(waiters[-1])
    assert waiting[-1].result(5) is True
    assert nobody_is_left(source.threads)


def test_a_thread_that_has_all_it_waits_for_when_it_takes_the_lead_asks_nothing(
    source: Source,
) -> None:
    """The leader before it has read its news, and gone, between its two looks."""
    answers = iter([False, True, True])

    source.threads.wait(WaitingThread(), now() + 5, lambda: next(answers))

    assert source.leaders == []
    assert nobody_is_left(source.threads)


def test_a_wake_before_parking_is_not_missed_and_counts_once(source: Source) -> None:
    waiter = WaitingThread()
    waiter.wake()

    assert source.threads.park(waiter, now() + 5) is True
    assert source.threads.park(waiter, now()) is False


@pytest.mark.parametrize("nested", [True, False])
def test_a_handler_that_interrupts_the_leader_leads_only_where_the_source_can_be_asked_anew(
    nested: bool,
) -> None:
    source, mine, inner = Source(nested), WaitingThread(), WaitingThread()
    heard: list[bool] = []

    def handler() -> None:
        source.news.append(inner)
        heard.append(source.threads.park(inner, now() + 0.1))
        source.news.append(mine)

    source.handler = handler

    assert source.threads.park(mine, now() + 5) is True
    assert heard == [nested]
    assert nobody_is_left(source.threads)


@pytest.mark.parametrize("nested", [True, False])
def test_a_handler_that_waits_may_strike_at_every_place(nested: bool) -> None:
    """A thread parks, and at one of its places after another a handler parks as well."""
    struck: list[str] = []
    while True:
        source, waiter = Source(nested), WaitingThread()
        source.news.append(waiter)
        handler = Handler(len(struck) + 1, "parking.py", partial(park_briefly, source))
        assert handler.run(partial(source.threads.park, waiter, now() + 5)) is True
        assert nobody_is_left(source.threads), handler.where
        if handler.where is None:
            break
        struck.append(handler.where)
    assert {where.rpartition(" ")[2] for where in struck} >= {"wait", "_leads", "_resign"}


def park_briefly(source: Source) -> None:
    source.threads.park(WaitingThread(), now() + 0.002)
