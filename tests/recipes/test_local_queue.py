"""The local queue by hand: siblings wait in order of arrival and cost the store nothing."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import pytest

from interlock.recipes.local_queue import LocalQueue, wait_turn

from .hand import Clock, Hand, Place

KEY = ("lock", "name")


class Crowd:
    """A queue with a head, and places behind it."""

    def __init__(self) -> None:
        self.queue, self.clock = LocalQueue(nullcontext()), Clock()
        self.owners = itertools.count(1)
        assert self.queue.enter(KEY, "head")

    def wait(self, timeout: float = 10.0) -> Hand:
        deadline, owner = self.clock() + timeout, f"owner {next(self.owners)}"
        return Hand(wait_turn(self.queue, KEY, owner, Place, deadline, self.clock))

    def leave(self) -> None:
        """Whoever is the head goes."""
        (owner,) = self.queue._heads.values()
        self.queue.leave(KEY, owner)


def woken(hand: Hand) -> bool:
    return bool(hand.requests[-1].wakes.woken)  # type: ignore[union-attr]


def test_head_of_an_empty_line_does_not_wait() -> None:
    queue = LocalQueue(nullcontext())

    assert queue.enter(KEY, "first")
    assert not queue.enter(KEY, "second")
    queue.leave(KEY, "first")
    assert queue.enter(KEY, "second")


def test_leaving_once_too_often_harms_nobody() -> None:
    queue = LocalQueue(nullcontext())
    assert queue.enter(KEY, "first")
    queue.leave(KEY, "first")
    assert queue.enter(KEY, "second")

    queue.leave(KEY, "first")

    assert not queue.enter(KEY, "third")


def test_those_behind_the_head_are_served_in_order_one_at_a_time() -> None:
    crowd = Crowd()
    first, second = crowd.wait(), crowd.wait()

    crowd.leave()

    assert (woken(first), woken(second)) == (True, False)
    assert first.reply(True).result is True
    crowd.leave()
    assert second.reply(True).result is True


def test_waiting_in_line_asks_the_store_for_nothing() -> None:
    crowd = Crowd()
    hands = [crowd.wait() for _ in range(1000)]
    for hand in hands:
        crowd.leave()
        hand.reply(True)

    assert {tuple(hand.story) for hand in hands} == {("park until 110",)}


def test_one_who_comes_when_the_head_has_just_gone_is_the_head() -> None:
    crowd = Crowd()
    crowd.leave()

    assert crowd.wait().result is True


def test_deadline_ends_the_standing_and_gives_up_the_place() -> None:
    crowd = Crowd()
    hasty, patient = crowd.wait(timeout=1.0), crowd.wait()
    crowd.clock.now += 1.0

    assert hasty.reply(False).result is False
    crowd.leave()
    assert patient.reply(True).result is True


def test_wake_without_service_is_only_a_hint() -> None:
    crowd = Crowd()
    hand = crowd.wait()

    hand.reply(True)

    assert not hand.done


@pytest.mark.parametrize("served", [False, True])
def test_interrupted_one_gives_up_its_place_even_if_it_was_just_served(served: bool) -> None:
    crowd, struck = Crowd(), KeyboardInterrupt()
    hand, behind = crowd.wait(), crowd.wait()
    if served:
        crowd.leave()

    hand.fail(struck)

    assert hand.error is struck
    if not served:
        crowd.leave()
    assert behind.reply(True).result is True
