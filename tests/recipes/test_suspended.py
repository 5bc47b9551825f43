"""The keeper when nobody knows how holds stand, when something has changed, when it is asked."""

from __future__ import annotations

from interlock.errors import StoreUnavailable
from interlock.model import RELEASE_REQUESTED, Busy, validity
from interlock.recipes.lock import Acquisition, acquire

from .hand import Clock, Hand, Paper
from .rounds import LEASE, Round

DOWN = StoreUnavailable("out of reach")


def test_a_hold_for_which_the_store_does_not_answer_is_in_doubt() -> None:
    keeping = Round()
    hold = keeping.holds[0]

    keeping.wait().fail(DOWN)

    assert hold.told == ["suspended"]


def test_somebodys_wish_is_passed_on_and_the_lease_is_whole_all_the_same() -> None:
    keeping = Round()
    hold = keeping.holds[0]

    keeping.wait().reply([RELEASE_REQUESTED])

    assert hold.told == ["wanted"]
    assert hold.until == validity(104.0, LEASE)


def test_a_change_makes_every_hold_due_that_is_kept() -> None:
    keeping = Round(holds=2)
    fixed = keeping.new_hold(7, kept=False)
    keeping.clock.now += 1.0

    assert keeping.schedule.make_all_due(keeping.clock())
    keeping.hand.reply(True)  # the keeper is woken

    assert [name for name, _ in keeping.hand.request.args[0]] == ["name 0", "name 1"]
    assert fixed.renew_at > keeping.clock()


def test_a_doubt_is_told_though_something_else_has_changed_since() -> None:
    keeping = Round()
    keeping.schedule.make_all_due(keeping.clock(), suspended=True)
    keeping.schedule.make_all_due(keeping.clock())

    keeping.hand.reply(True)  # the keeper is woken

    assert keeping.holds[0].told == ["suspended"]


def test_a_change_without_any_hold_is_nobodys_business() -> None:
    assert not Round(holds=0).schedule.make_all_due(5.0)


def test_what_was_asked_before_a_change_is_asked_again() -> None:
    keeping = Round()
    keeping.wait()
    keeping.schedule.make_all_due(keeping.clock())

    keeping.hand.reply([True])

    assert keeping.hand.story[-2:] == ["renew", "renew"]


def test_a_refusal_that_leaves_a_place_behind_is_withdrawn() -> None:
    hand = Hand(acquire(Acquisition(Paper(), "name", "owner:1", 12.0, 100.0, 100.0, Clock())))

    hand.reply(Busy("owner:9", None, placed=True))  # the deadline has come
    hand.reply(None)  # who holds it

    assert hand.story[-1] == "withdraw"


class Short(Paper):
    """A store that stands for less than a lease."""

    def valid_until(self, asked: float, lease: float) -> float:
        return asked + lease / 4


def test_a_grant_is_worth_as_much_as_its_store_stands_for() -> None:
    clock = Clock()
    hand = Hand(acquire(Acquisition(Short(), "name", "owner:1", 12.0, clock(), 1e9, clock)))

    grant = hand.reply(7).result

    assert grant.until == clock() + 3.0
