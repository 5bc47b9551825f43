"""Of those who wait, one asks; everybody hears of their own turn, and of nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

import interlock
from interlock.backends.sqlite.errors import Occupied
from interlock.backends.sqlite.transport import watch as watching
from interlock.backends.sqlite.transport.watch import CommitWatch, Topic, WaiterState
from interlock.drive import now
from interlock.errors import StoreUnavailable
from interlock.parking import WaitingThread
from interlock.recipes.lock import POLL_CAP

from ...support.worlds import World, _settle
from .raw import ask, until

MINE, THEIRS = ("k", "me:1"), ("k", "them:1")


class Fake:
    """A world of which a test says who holds what."""

    def __init__(self) -> None:
        self.number = 0
        self.sights: dict[Topic, WaiterState] = {}
        self.askers: list[str] = []
        self.polls = 0
        self.failure: Exception | None = None

    def version(self) -> object:
        self.askers.append(threading.current_thread().name)
        if self.failure is not None:
            raise self.failure
        return self.number

    def poll(self, topics: Sequence[Topic]) -> list[WaiterState]:
        self.polls += 1
        return [self.sights.get(topic, WaiterState(False, "somebody", 0)) for topic in topics]

    def commit(self) -> None:
        self.number += 1


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def watch(fake: Fake) -> CommitWatch:
    return CommitWatch(fake)


def seat(watch: CommitWatch, topic: Topic) -> WaitingThread:
    place = WaitingThread(lambda: watch.leave(topic))
    watch.enter(topic, place.wake)
    return place


def parked(watch: CommitWatch, place: WaitingThread, seconds: float = 10.0) -> Future[bool]:
    """A thread that waits."""
    outcome: Future[bool] = Future()
    thread = threading.Thread(
        target=_settle, args=(outcome, lambda: watch.park(place, now() + seconds)), daemon=True
    )
    thread.start()
    until(lambda: place in watch._threads.parked or outcome.done())
    return outcome


def test_whoever_is_due_is_woken(fake: Fake, watch: CommitWatch) -> None:
    waiting = parked(watch, seat(watch, MINE))

    fake.sights[MINE] = WaiterState(True, "me", 0)
    fake.commit()

    assert waiting.result(5) is True


def test_everybody_else_sleeps_on(fake: Fake, watch: CommitWatch) -> None:
    mine = parked(watch, seat(watch, MINE))
    theirs = parked(watch, seat(watch, THEIRS), seconds=0.5)

    fake.sights[MINE] = WaiterState(True, "me", 0)
    fake.sights[THEIRS] = WaiterState(False, "me", 0)
    fake.commit()

    assert mine.result(5) is True
    assert theirs.result(5) is False


def test_a_wake_between_listening_and_parking_is_not_missed(
    fake: Fake, watch: CommitWatch
) -> None:
    place = seat(watch, MINE)

    watch.wake([MINE])

    assert watch.park(place, now() + 5) is True
    assert watch.park(place, now()) is False


def test_a_commit_between_listening_and_parking_is_not_missed(
    fake: Fake, watch: CommitWatch
) -> None:
    parked(watch, seat(watch, THEIRS), seconds=0.05).result(5)  # the number is known by now
    place = seat(watch, MINE)

    fake.sights[MINE] = WaiterState(True, "me", 0)
    fake.commit()

    assert watch.park(place, now() + 5) is True


def test_nobody_glances_while_nothing_is_committed(fake: Fake, watch: CommitWatch) -> None:
    parked(watch, seat(watch, MINE), seconds=0.1).result(5)

    assert len(fake.askers) > 5
    assert fake.polls == 1


def test_only_one_thread_asks(fake: Fake, watch: CommitWatch) -> None:
    waiting = [parked(watch, seat(watch, ("k", f"me:{n}")), seconds=0.2) for n in range(5)]

    time.sleep(0.1)
    askers = set(fake.askers)

    assert len(askers) == 1
    assert [each.result(5) for each in waiting] == [False] * 5


class Struck(Fake):
    """A world whose leader is interrupted, in its first question, by a handler."""

    def __init__(self) -> None:
        super().__init__()
        self.handler: Callable[[], None] | None = None

    def version(self) -> object:
        handler, self.handler = self.handler, None
        if handler is not None:
            handler()
        return super().version()


def test_signal_handler_that_waits_leads_in_place_of_the_leader_that_it_interrupts() -> None:
    fake = Struck()
    watch, heard = CommitWatch(fake), list[bool]()
    theirs, mine = seat(watch, THEIRS), seat(watch, MINE)

    def handler() -> None:
        threading.Timer(0.05, commit).start()
        heard.append(watch.park(mine, now() + 5))

    def commit() -> None:
        fake.sights[MINE] = fake.sights[THEIRS] = WaiterState(True, "both", 0)
        fake.commit()

    fake.handler = handler

    assert watch.park(theirs, now() + 5) is True
    assert heard == [True]


def test_when_the_leader_goes_another_one_leads(fake: Fake, watch: CommitWatch) -> None:
    leader = parked(watch, seat(watch, MINE))
    follower = parked(watch, seat(watch, THEIRS))
    watch.wake([MINE])
    assert leader.result(5) is True

    fake.sights[THEIRS] = WaiterState(True, "me", 0)
    fake.commit()

    assert follower.result(5) is True
    assert len(set(fake.askers)) == 2


def test_a_follower_that_goes_does_not_disturb_the_leader(fake: Fake, watch: CommitWatch) -> None:
    leader = parked(watch, seat(watch, MINE))
    follower = parked(watch, seat(watch, THEIRS))

    watch.wake([THEIRS])
    assert follower.result(5) is True
    fake.sights[MINE] = WaiterState(True, "me", 0)
    fake.commit()

    assert leader.result(5) is True
    assert len(set(fake.askers)) == 1


@pytest.mark.parametrize("failure", [Occupied(), StoreUnavailable("down")])
def test_a_file_that_cannot_be_asked_disturbs_nobody(
    fake: Fake, watch: CommitWatch, failure: Exception
) -> None:
    waiting = parked(watch, seat(watch, MINE))
    fake.failure = failure
    asked = len(fake.askers)
    until(lambda: len(fake.askers) > asked + 2)

    fake.failure = None
    fake.sights[MINE] = WaiterState(True, "me", 0)
    fake.commit()

    assert waiting.result(5) is True


def test_pauses_grow_with_the_quiet_and_shrink_with_a_new_sign(
    fake: Fake, watch: CommitWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [1000.0]
    monkeypatch.setattr(watching, "now", lambda: at[0])
    watch.enter(MINE, lambda: None)
    first = watch._pause()
    at[0] += 0.1
    later = watch._pause()
    at[0] += 100
    longest = watch._pause()

    fake.commit()
    watch._ask()

    assert first == watch._pause() < watching.SHORTEST * 1.5
    assert first < later < longest == watching.LONGEST


def test_commits_that_change_nothing_for_a_waiter_leave_the_pauses_long(
    fake: Fake, watch: CommitWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [1000.0]
    monkeypatch.setattr(watching, "now", lambda: at[0])
    watch.enter(MINE, lambda: None)
    watch._ask()
    at[0] += 100

    fake.commit()
    watch._ask()

    assert fake.polls == 2
    assert watch._pause() == watching.LONGEST


def test_whoever_stands_further_back_asks_less_often(fake: Fake, watch: CommitWatch) -> None:
    watch.enter(MINE, lambda: None)
    first = watch._pause()
    fake.sights[MINE] = WaiterState(False, "somebody", 9)
    fake.commit()

    watch._ask()

    assert watch._pause() > first + 8 * watching.SHORTEST


def test_nobody_asks_for_nobody(fake: Fake, watch: CommitWatch) -> None:
    watch.park(WaitingThread(), now() + 0.05)

    assert fake.askers == []


def test_a_thread_waits_for_tasks_and_goes_when_there_is_none(
    fake: Fake, watch: CommitWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LINGER", 0.05)
    woken = threading.Event()
    watch.enter_task(MINE, woken.set)
    thread = watch._lookout
    assert thread is not None

    fake.sights[MINE] = WaiterState(True, "me", 0)
    fake.commit()

    assert woken.wait(5)
    watch.leave(MINE)
    thread.join(5)
    assert not thread.is_alive()
    assert watch._lookout is None


def test_a_thread_that_has_nobody_to_wait_for_hears_of_the_next_at_once(
    fake: Fake, watch: CommitWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LINGER", 5.0)
    watch.enter_task(THEIRS, lambda: None)
    until(lambda: len(fake.askers) > 0)
    watch.leave(THEIRS)
    asked = -1
    while asked != len(fake.askers):  # it asks no more, and pauses
        asked = len(fake.askers)
        time.sleep(0.1)
    woken = threading.Event()

    watch.enter_task(MINE, woken.set)
    fake.sights[MINE] = WaiterState(True, "me", 0)
    fake.commit()

    assert woken.wait(2)
    watch.leave(MINE)


# --- in one process -----------------------------------------------------------------------------


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody hears of a commit by asking for it."""
    monkeypatch.setattr(CommitWatch, "_ask", lambda watch: None)
    yield


def test_siblings_of_one_process_wake_each_other_directly(
    world: World, url: str, path: Path, deaf: None
) -> None:
    first, second = world.connect(url), world.connect(url)
    hold = world.do(first.lock("k").acquire)
    waiting = world.start(second.lock("k").acquire)
    until(lambda: ask(path, "SELECT count(*) FROM queue") == [(1,)])

    began = time.monotonic()
    world.do(hold.release)
    world.do(waiting.result(5).release)

    assert time.monotonic() - began < POLL_CAP / 2


def test_threads_and_tasks_wake_each_other_directly(
    world: World, url: str, path: Path, client: interlock.Client, deaf: None
) -> None:
    hold = client.lock("k").acquire()
    waiting = world.start(world.connect(url).lock("k").acquire)
    until(lambda: ask(path, "SELECT count(*) FROM queue") == [(1,)])

    began = time.monotonic()
    hold.release()
    world.do(waiting.result(5).release)

    assert time.monotonic() - began < POLL_CAP / 2
