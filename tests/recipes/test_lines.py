"""The local line by hand: siblings wait in order of arrival and cost the store nothing."""

from __future__ import annotations

import itertools

import pytest

from interlock.api.lines import Lines, stand

from .hand import Clock, Hand, Place

KEY = ("lock", "name")


class Crowd:
    """A line with a head, and places behind it."""

    def __init__(self) -> None:
        self.lines, self.clock = Lines(), Clock()
        self.owners = itertools.count(1)
        assert self.lines.enter(KEY, "head")

    def stand(self, timeout: float = 10.0) -> Hand:
        deadline, owner = self.clock() + timeout, f"owner {next(self.owners)}"
        return Hand(stand(self.lines, KEY, owner, Place, deadline, self.clock))

    def leave(self) -> None:
        """Whoever is the head goes."""
        (owner,) = self.lines._heads.values()
        self.lines.leave(KEY, owner)


def woken(hand: Hand) -> bool:
    return bool(hand.requests[-1].wakes.woken)  # type: ignore[union-attr]


def test_head_of_an_empty_line_does_not_wait() -> None:
    lines = Lines()

    assert lines.enter(KEY, "first")
    assert not lines.enter(KEY, "second")
    lines.leave(KEY, "first")
    assert lines.enter(KEY, "second")


def test_leaving_once_too_often_harms_nobody() -> None:
    lines = Lines()
    assert lines.enter(KEY, "first")
    lines.leave(KEY, "first")
    assert lines.enter(KEY, "second")

    lines.leave(KEY, "first")

    assert not lines.enter(KEY, "third")


def test_those_behind_the_head_are_served_in_order_one_at_a_time() -> None:
    crowd = Crowd()
    first, second = crowd.stand(), crowd.stand()

    crowd.leave()

    assert (woken(first), woken(second)) == (True, False)
    assert first.reply(True).result is True
    crowd.leave()
    assert second.reply(True).result is True


def test_waiting_in_line_asks_the_store_for_nothing() -> None:
    crowd = Crowd()
    hands = [crowd.stand() for _ in range(1000)]
    for hand in hands:
        crowd.leave()
        hand.reply(True)

    assert {tuple(hand.story) for hand in hands} == {("park until 110",)}


def test_one_who_comes_when_the_head_has_just_gone_is_the_head() -> None:
    crowd = Crowd()
    crowd.leave()

    assert crowd.stand().result is True


def test_deadline_ends_the_standing_and_gives_up_the_place() -> None:
    crowd = Crowd()
    hasty, patient = crowd.stand(timeout=1.0), crowd.stand()
    crowd.clock.now += 1.0

    assert hasty.reply(False).result is False
    crowd.leave()
    assert patient.reply(True).result is True


def test_wake_without_service_is_only_a_hint() -> None:
    crowd = Crowd()
    hand = crowd.stand()

    hand.reply(True)

    assert not hand.done


@pytest.mark.parametrize("served", [False, True])
def test_interrupted_one_gives_up_its_place_even_if_it_was_just_served(served: bool) -> None:
    crowd, struck = Crowd(), KeyboardInterrupt()
    hand, behind = crowd.stand(), crowd.stand()
    if served:
        crowd.leave()

    hand.fail(struck)

    assert hand.error is struck
    if not served:
        crowd.leave()
    assert behind.reply(True).result is True
