"""What each operation does to the records of a store."""

from __future__ import annotations

import pytest

from interlock.ledger import BURIED, BUSY, GRANTED, NOT_HELD, OTHER_KIND, RELEASED
from interlock.model import PROVISIONAL, TOMBSTONE

from .desk import LEASE, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- attempt --------------------------------------------------------------------------------


def test_free_lock_is_granted_with_a_token(desk: Desk) -> None:
    answer = desk.attempt("a")

    assert answer[0] == GRANTED and answer[1] > 0
    assert (desk.holder, desk.left) == ("a", LEASE)


def test_busy_lock_tells_its_holder_and_the_time_left(desk: Desk) -> None:
    desk.attempt("a")
    desk.clock.now += 10.0

    assert desk.attempt("b") == (BUSY, "a", 20.0)
    assert desk.queue == []


def test_owner_that_asks_again_is_granted_again_with_a_whole_lease_and_a_newer_token(
    desk: Desk,
) -> None:
    first = desk.attempt("a")
    desk.clock.now += 10.0

    second = desk.attempt("a")

    assert second[0] == GRANTED and second[1] > first[1]
    assert desk.left == LEASE


def test_waiter_that_asks_again_keeps_its_place(desk: Desk) -> None:
    desk.attempt("a")
    for owner in ("b", "c", "b"):
        desk.wait(owner)

    assert desk.queue == ["b", "c"]


def test_lease_that_ran_out_frees_the_lock_for_whoever_asks(desk: Desk) -> None:
    desk.attempt("a")
    desk.clock.now += LEASE

    assert desk.attempt("b")[0] == GRANTED


def test_try_does_not_overtake_a_waiter_but_hands_over_to_it(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.clock.now += LEASE  # the holder died

    answer = desk.attempt("c")

    assert answer == (BUSY, "b", PROVISIONAL)
    assert desk.woken == ["b"]
    assert desk.queue == []


def test_first_waiter_takes_a_free_lock_itself(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.wait("c")
    desk.clock.now += LEASE

    assert desk.wait("b")[0] == GRANTED
    assert (desk.woken, desk.queue) == ([], ["c"])


def test_name_of_another_kind_is_refused_and_not_touched(desk: Desk) -> None:
    desk.attempt("a", kind="mutex")

    assert desk.attempt("b", waits=True, kind="lock") == (OTHER_KIND, "mutex")
    assert (desk.holder, desk.queue) == ("a", [])


# --- release and hand-over --------------------------------------------------------------------


def test_release_frees_the_lock_once(desk: Desk) -> None:
    desk.attempt("a")

    assert [desk.release("a"), desk.release("a")] == [RELEASED, NOT_HELD]
    assert desk.holder is None


def test_release_of_somebody_elses_lock_touches_nothing(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")

    assert desk.release("b") == NOT_HELD
    assert (desk.holder, desk.queue, desk.woken) == ("a", ["b"], [])


def test_release_hands_over_to_the_first_waiter_for_a_short_time(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.wait("c")

    desk.release("a")

    assert (desk.holder, desk.left) == ("b", PROVISIONAL)
    assert (desk.woken, desk.queue) == (["b"], ["c"])


def test_claim_of_what_was_handed_over_makes_the_lease_whole(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.release("a")

    assert desk.attempt("b", waits=True)[0] == GRANTED
    assert desk.left == LEASE


def test_waiter_that_does_not_hear_is_dropped(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.wait("c")
    desk.vanish("b")

    desk.release("a")

    assert (desk.holder, desk.queue) == ("c", [])


def test_waiter_keeps_its_place_while_the_lock_is_held_though_it_does_not_hear(
    desk: Desk,
) -> None:
    """It may be about to hear again; as long as an owner holds, it keeps no other out."""
    desk.attempt("a")
    desk.wait("b")
    desk.vanish("b")

    assert desk.wait("c") == (BUSY, "a", LEASE)

    assert desk.queue == ["b", "c"]


def test_waiter_that_sleeps_costs_one_provisional_lease(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.wait("c")
    desk.release("a")  # b was told, and sleeps
    desk.clock.now += PROVISIONAL

    assert desk.wait("c")[0] == GRANTED


# --- withdraw -----------------------------------------------------------------------------------


def test_withdrawal_of_a_holder_hands_over(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")

    assert desk.withdraw("a") == RELEASED
    assert desk.holder == "b"


def test_withdrawal_of_a_waiter_takes_it_out_of_the_queue(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")

    assert desk.withdraw("b") == NOT_HELD
    assert (desk.holder, desk.queue) == ("a", [])


def test_withdrawal_of_a_waiter_that_was_handed_the_lock_passes_it_on(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.wait("c")
    desk.release("a")

    assert desk.withdraw("b") == RELEASED
    assert desk.holder == "c"


def test_question_that_comes_after_its_withdrawal_is_refused(desk: Desk) -> None:
    desk.withdraw("a")

    assert desk.attempt("a") == (BURIED,)
    assert desk.attempt("a", waits=True) == (BURIED,)
    assert (desk.holder, desk.queue) == (None, [])


def test_withdrawal_may_be_repeated(desk: Desk) -> None:
    desk.attempt("a")

    assert [desk.withdraw("a"), desk.withdraw("a")] == [RELEASED, NOT_HELD]


def test_tombstones_do_not_pile_up(desk: Desk) -> None:
    desk.withdraw("a")
    desk.clock.now += TOMBSTONE

    desk.withdraw("b")

    assert list(desk.records.tombs) == ["b"]


# --- renew, tokens ------------------------------------------------------------------------------


def test_renewal_sets_the_lease_and_never_adds(desk: Desk) -> None:
    desk.attempt("a")

    assert [desk.renew("a"), desk.renew("a")] == [[True], [True]]
    assert desk.left == LEASE


def test_renewal_of_a_lock_that_is_not_ours_is_denied_and_changes_nothing(desk: Desk) -> None:
    desk.attempt("a")
    desk.clock.now += 10.0

    assert desk.renew("b") == [False]
    assert (desk.holder, desk.left) == ("a", 20.0)


def test_renewal_after_the_lease_ran_out_does_not_bring_it_back(desk: Desk) -> None:
    desk.attempt("a")
    desk.clock.now += LEASE

    assert desk.renew("a") == [False]
    assert desk.holder is None


def test_tokens_grow_even_if_the_clock_steps_back_or_the_count_is_lost(desk: Desk) -> None:
    first = desk.attempt("a")[1]
    desk.clock.now -= 50.0
    second = desk.attempt("a")[1]
    fresh = Desk()  # a store that lost its data
    fresh.clock.now += 1.0

    assert first < second < fresh.attempt("a")[1]
