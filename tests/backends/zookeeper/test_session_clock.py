"""From when a session counts: decided on paper, and shown with a follower that freezes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import interlock
from interlock.backends.zookeeper.transport.answers import LAG, RECENT, SessionClock
from interlock.drive import now
from tests.support.ensembles import Ensemble
from tests.support.zookeepers import ZooKeeperServer

T = 12.0


def clock() -> SessionClock:
    """One whose session was opened at 100."""
    made = SessionClock(0.0)
    made.greeted(100.0, T)
    return made


def test_whoever_was_greeted_is_known_to_the_leader() -> None:
    assert clock().alive_since(101.0) == 100.0


def test_what_was_answered_half_a_tick_before_a_question_is_known_to_the_leader() -> None:
    ours = clock()
    ours.answered(110.0, 110.5)
    ours.leader_answered(120.0)

    assert ours.alive_since(110.5 + T * LAG) == 110.0
    assert ours.alive_since(110.4 + T * LAG) == 100.0


def test_what_no_leader_has_answered_proves_nothing() -> None:
    ours = clock()
    ours.answered(110.0, 110.5)  # by a follower that may have lost its leader
    assert ours.alive_since(115.0) == 100.0

    ours.leader_answered(114.0)
    assert ours.alive_since(115.0) == 110.0


def test_a_leader_that_has_just_answered_need_not_be_asked() -> None:
    ours = clock()

    assert ours.leader_is_recent(101.0)
    assert not ours.leader_is_recent(100.0 + T * RECENT)


def test_no_question_vouches_for_itself() -> None:
    ours = clock()
    ours.answered(120.0, 120.1)
    ours.leader_answered(120.0)

    assert ours.alive_since(120.0) == 100.0


def test_nothing_counts_from_later_than_its_question() -> None:
    assert clock().alive_since(99.0) == 99.0


def test_what_one_server_has_heard_does_not_count_at_the_next() -> None:
    ours = clock()
    ours.answered(110.0, 110.1)
    ours.leader_answered(110.0)
    ours.greeted(112.0, T)

    assert ours.alive_since(113.5) == 112.0


def test_a_thousand_questions_are_a_few_answered() -> None:
    ours = clock()
    for number in range(100_000):
        ours.answered(100.0 + number / 1000, 100.0 + number / 1000)
    ours.leader_answered(199.999)

    told = 199.999 - LAG * T
    assert told - T / 20 < ours.alive_since(199.999) <= told
    assert len(ours._answered) < 100


# --- a follower that freezes with what it has not told ----------------------------------------


@pytest.fixture(scope="module")
def ensemble() -> Iterator[Ensemble]:
    with Ensemble(3, tick_ms=500) as ensemble:
        yield ensemble


@pytest.fixture
def follower(ensemble: Ensemble) -> Iterator[ZooKeeperServer]:
    follower = ensemble.followers()[0]
    yield follower
    follower.resume()


@pytest.mark.server
def test_a_holder_hears_of_its_loss_before_another_is_let_in_when_its_server_freezes(
    ensemble: Ensemble, follower: ZooKeeperServer
) -> None:
    idle, session = threading.Event(), "?session_timeout=4"
    with (
        interlock.connect(follower.url("f") + session) as ours,
        interlock.connect(ensemble.leader().url("f") + session) as theirs,
    ):
        theirs.lock("k").acquire().release()
        ours.lock("k").acquire().release()
        idle.wait(1.1)  # shorter than the next ping, and longer than half a tick
        hold = ours.lock("k").acquire()
        lost: list[float] = []
        hold.on_lost(lambda _: lost.append(now()))
        follower.pause()

        granted = theirs.lock("k").acquire(timeout=30)
        let_in = now()

        assert lost
        assert lost[0] < let_in
        assert granted.token > hold.token
        follower.resume()
