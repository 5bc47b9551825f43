"""What the ledger makes of readers and writers: who shares, who waits, who is let in."""

from __future__ import annotations

import pytest

from interlock import ledger
from interlock.ledger import BURIED, BUSY, GRANTED, NOT_HELD, OTHER_KIND
from interlock.model import PROVISIONAL

from .desk import LEASE, RwDesk


@pytest.fixture
def desk() -> RwDesk:
    return RwDesk()


# --- who shares -----------------------------------------------------------------------------


def test_several_read_at_the_same_time(desk: RwDesk) -> None:
    answers = [desk.read(owner) for owner in ("a", "b", "c")]

    assert [answer[0] for answer in answers] == [GRANTED] * 3
    assert answers[0][1] < answers[1][1] < answers[2][1]
    assert desk.modes == {"a": "read", "b": "read", "c": "read"}


def test_writer_is_alone(desk: RwDesk) -> None:
    assert desk.write("w")[0] == GRANTED

    assert desk.read("a") == (BUSY, "w", LEASE)
    assert desk.write("v") == (BUSY, "w", LEASE)
    assert desk.modes == {"w": "write"}
    assert desk.look().holders[0].weight == 1


def test_one_reader_keeps_writers_out(desk: RwDesk) -> None:
    desk.read("a")
    desk.clock.now += 10.0
    desk.read("b")

    assert desk.write("w") == (BUSY, "a", 20.0)
    desk.release("a")
    assert desk.write("w") == (BUSY, "b", LEASE)
    desk.release("b")
    assert desk.write("w")[0] == GRANTED


def test_lease_of_one_reader_ends_without_the_others(desk: RwDesk) -> None:
    desk.read("a")
    desk.clock.now += 10.0
    desk.read("b")
    desk.clock.now += 20.0

    assert desk.holders == ["b"]
    assert [desk.renew("a"), desk.renew("b")] == [[False], [True]]
    assert desk.write("w") == (BUSY, "b", LEASE)


def test_busy_tells_the_nearest_end_of_a_lease(desk: RwDesk) -> None:
    desk.read("a")
    desk.clock.now += 10.0
    desk.read("b")
    desk.clock.now += 5.0
    desk.renew("a")

    assert desk.write("w") == (BUSY, "a", 25.0)


def test_renewed_reader_and_renewed_writer_stay_what_they_are(desk: RwDesk) -> None:
    desk.read("a")
    desk.renew("a")
    assert desk.modes == {"a": "read"}
    desk.release("a")
    desk.write("w")
    desk.renew("w")
    assert desk.modes == {"w": "write"}


# --- no owner overtakes -----------------------------------------------------------------------


def test_writer_that_waits_is_not_overtaken_by_readers(desk: RwDesk) -> None:
    desk.read("a")
    desk.wait_to_write("w")

    assert desk.read("b") == (BUSY, "a", LEASE)
    assert desk.wait("c") == (BUSY, "a", LEASE)
    assert (desk.holders, desk.queue) == (["a"], ["w", "c"])
    desk.release("a")
    assert desk.lefts == {"w": PROVISIONAL}
    assert (desk.woken, desk.queue) == (["w"], ["c"])


def test_reader_that_reads_already_is_granted_again_beside_a_waiting_writer(desk: RwDesk) -> None:
    desk.read("a")
    desk.wait_to_write("w")

    assert desk.read("a")[0] == GRANTED
    assert desk.queue == ["w"]


def test_writer_that_was_killed_while_it_waited_keeps_no_reader_out(desk: RwDesk) -> None:
    desk.read("a")
    desk.wait_to_write("w")
    desk.vanish("w")

    assert desk.read("b")[0] == GRANTED
    assert (desk.holders, desk.queue) == (["a", "b"], [])


def test_readers_that_came_before_a_writer_go_before_it(desk: RwDesk) -> None:
    desk.write("v")
    desk.wait("a")
    desk.wait_to_write("w")
    desk.release("v")

    assert (desk.holders, desk.queue) == (["a"], ["w"])


# --- handing over -----------------------------------------------------------------------------


def test_leading_readers_are_let_in_together_and_no_further(desk: RwDesk) -> None:
    desk.write("v")
    for owner in ("a", "b"):
        desk.wait(owner)
    desk.wait_to_write("w")
    desk.wait("c")

    desk.release("v")

    assert desk.lefts == {"a": PROVISIONAL, "b": PROVISIONAL}
    assert (desk.woken, desk.queue) == (["a", "b"], ["w", "c"])


def test_each_claims_what_it_was_handed(desk: RwDesk) -> None:
    desk.write("v")
    desk.wait("a")
    desk.wait("b")
    desk.release("v")

    assert desk.attempt("b", waits=True)[0] == GRANTED
    assert desk.lefts == {"a": PROVISIONAL, "b": LEASE}
    assert desk.attempt("a", waits=True)[0] == GRANTED
    assert desk.lefts == {"a": LEASE, "b": LEASE}


def test_deaf_reader_among_those_let_in_is_dropped(desk: RwDesk) -> None:
    desk.write("v")
    for owner in ("a", "b", "c"):
        desk.wait(owner)
    desk.vanish("b")

    desk.release("v")

    assert (desk.holders, desk.queue) == (["a", "c"], [])


def test_one_who_asks_lets_in_those_who_came_before_it(desk: RwDesk) -> None:
    desk.write("v")
    desk.wait("a")
    desk.wait("b")
    desk.clock.now += LEASE  # the writer died

    assert desk.wait("b")[0] == GRANTED
    assert desk.lefts == {"a": PROVISIONAL, "b": LEASE}


def test_last_reader_hands_over_to_the_writer_and_no_other_does(desk: RwDesk) -> None:
    desk.read("a")
    desk.read("b")
    desk.wait_to_write("w")

    desk.release("a")
    assert desk.woken == []
    desk.release("b")
    assert (desk.woken, desk.modes) == (["w"], {"w": "write"})


def test_readers_who_waited_for_a_writer_alone_are_let_in_when_it_gives_up(desk: RwDesk) -> None:
    desk.read("a")
    desk.wait_to_write("w")
    desk.wait("b")

    assert desk.withdraw("w") == NOT_HELD

    assert desk.lefts == {"a": LEASE, "b": PROVISIONAL}
    assert desk.woken == ["b"]


def test_question_of_a_writer_that_comes_after_its_withdrawal_is_refused(desk: RwDesk) -> None:
    desk.withdraw("w")

    assert desk.write("w") == (BURIED,)
    assert desk.wait_to_write("w") == (BURIED,)
    assert (desk.holders, desk.queue) == ([], [])


# --- one kind a name ----------------------------------------------------------------------------


def test_name_that_is_read_is_no_lock_and_no_semaphore(desk: RwDesk) -> None:
    desk.read("a")

    assert desk.attempt("b", waits=True, kind="lock") == (OTHER_KIND, "rwlock")
    answer = ledger.attempt(desk.records, "name", "semaphore", "b", LEASE, True, 1, 4)
    assert answer == (OTHER_KIND, "rwlock")
    assert ledger.set_permits(desk.records, "name", "semaphore", 4) == (OTHER_KIND, "rwlock")
    assert ledger.set_count(desk.records, "name", 3) == (OTHER_KIND, "rwlock")
    assert (desk.holders, desk.queue, desk.records.declarations) == (["a"], [], {})


def test_look_tells_who_reads_and_who_writes(desk: RwDesk) -> None:
    token = desk.read("a")[1]
    desk.clock.now += 10.0
    desk.read("b")
    desk.wait_to_write("w")

    info = desk.look()

    assert (info.kind, info.expires_in, info.waiters) == ("rwlock", 20.0, 1)
    first, second = info.holders
    assert (first.owner, first.mode, first.expires_in, first.token) == ("a", "read", 20.0, token)
    assert (second.owner, second.mode, second.expires_in) == ("b", "read", LEASE)
    assert [each.weight for each in info.holders] == [1, 1]
    assert info.token == second.token
