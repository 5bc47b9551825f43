"""How a lock is given back, whatever becomes of the reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interlock.errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from interlock.model import Grant
from interlock.recipes.lock import release
from interlock.steps import Call

from .hand import OWNER, Hand, Paper

LOST = OutcomeUnknown("no answer", "store")
DOWN = StoreUnavailable("out of reach", "store")
INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]

GRANT = Grant("name", OWNER, 7, 100.0, 130.0)


@pytest.mark.parametrize("held", [True, False])
def test_release_is_one_request_and_tells_whether_it_was_held(held: bool) -> None:
    hand = Hand(release(Paper(), GRANT, 105.0))
    assert hand.request == Call("release", ("name",), (OWNER,), 105.0)

    hand.reply(held)

    assert hand.result is held
    assert hand.story == ["release"]


def test_doubted_grant_is_given_back_by_withdrawing() -> None:
    hand = Hand(release(Paper(), GRANT._replace(unanswered=True), 105.0)).reply(True)

    assert hand.story == ["withdraw"]
    assert hand.result is True


@pytest.mark.parametrize("failure", [LOST, DOWN])
def test_lost_reply_to_a_release_is_made_good_by_withdrawing(failure: StoreError) -> None:
    """The first may have been executed, so that the second finds nothing: no false loss."""
    hand = Hand(release(Paper(), GRANT, 105.0)).fail(failure).reply(False)

    assert hand.story == ["release", "withdraw"]
    assert hand.result is True


def test_lost_reply_to_the_withdrawal_of_a_doubted_grant_is_made_good() -> None:
    hand = Hand(release(Paper(), GRANT._replace(unanswered=True), 105.0)).fail(LOST).reply(False)

    assert hand.story == ["withdraw", "withdraw"]
    assert hand.result is True


def test_release_that_cannot_be_confirmed_says_so() -> None:
    hand = Hand(release(Paper(), GRANT, 105.0)).fail(LOST).fail(DOWN)

    assert hand.error is DOWN


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interrupted_release_is_done_all_the_same(
    interruption: Callable[[], BaseException],
) -> None:
    struck = interruption()

    hand = Hand(release(Paper(), GRANT, 105.0)).fail(struck).reply(True)

    assert hand.story == ["release", "withdraw"]
    assert hand.error is struck


def test_interrupted_release_that_cannot_be_confirmed_is_noted() -> None:
    struck = KeyboardInterrupt()

    hand = Hand(release(Paper(), GRANT, 105.0)).fail(struck).fail(DOWN)

    assert hand.error is struck
    assert "did not confirm the release of lock 'name'" in struck.__notes__[0]


def test_second_interruption_during_a_release_keeps_the_first() -> None:
    first = asyncio.CancelledError()

    hand = Hand(release(Paper(), GRANT, 105.0)).fail(first).fail(KeyboardInterrupt())

    assert hand.error is first


def test_release_that_the_store_denies_for_its_settings_is_not_repeated() -> None:
    denied = StoreMisconfigured("no permission")

    hand = Hand(release(Paper(), GRANT, 105.0)).fail(denied)

    assert hand.story == ["release"]
    assert hand.error is denied
