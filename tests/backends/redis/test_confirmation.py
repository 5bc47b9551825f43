"""Which replies count only once replicas have confirmed them, and how many must: decided without
any I/O."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.backends.redis.confirmation import (
    ALL,
    LIMIT,
    Confirmation,
    Replicas,
    Unconfirmed,
    confirmation_of,
    needs_confirmation,
    replicas_shown,
    replicas_to_wait_for,
)
from interlock.backends.redis.scripts import script
from interlock.errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from interlock.steps import Call

LABEL = "redis+sentinel://a,b,c/m/0"


class Onlookers:
    """What sees so many replicas up."""

    title = "the Sentinels of h:1"

    def __init__(self, seen: int) -> None:
        self._seen = seen

    def replicas_seen(self) -> int:
        return self._seen


def needed(wanted: int) -> Confirmation:
    return confirmation_of(LABEL, wanted, wanted, None)


def test_a_role_says_how_many_replicas_there_are() -> None:
    two: list[Any] = [b"master", 7, [[b"h", b"1", b"7"], [b"h", b"2", b"7"]]]
    assert replicas_shown(two, LABEL) == 2
    assert replicas_shown(["master", 7, []], LABEL) == 0
    replica = [b"slave", b"h", 1, b"connected", 7]
    assert replicas_shown(replica, LABEL, any_role=True) == 0
    with pytest.raises(StoreUnavailable, match="replica by now"):
        replicas_shown(replica, LABEL)


@pytest.mark.parametrize(
    ("said", "wanted"), [(None, [0, 1, 1]), (0, [0, 0, 0]), (2, [2, 2, 2]), (ALL, [0, 1, 2])]
)
def test_as_many_are_waited_for_as_was_said_or_one_of_those_that_are_known(
    said: Replicas, wanted: list[int]
) -> None:
    assert [replicas_to_wait_for(said, known) for known in (0, 1, 2)] == wanted


@pytest.mark.parametrize("said", [None, ALL])
def test_a_replica_counts_that_only_others_see(said: Replicas) -> None:
    assert confirmation_of(LABEL, said, 0, Onlookers(1)).wanted == 1
    assert confirmation_of(LABEL, said, 1, Onlookers(0)).wanted == 1
    assert confirmation_of(LABEL, said, 0, Onlookers(0)).wanted == 0
    assert confirmation_of(LABEL, 0, 0, Onlookers(2)).wanted == 0


def test_a_server_that_shows_fewer_than_others_see_may_have_been_replaced() -> None:
    grant = asked("lock_attempt")
    doubtful = str(confirmation_of(LABEL, None, 0, Onlookers(2)).failure(grant, 0))
    assert "the server shows 0 replicas and the Sentinels of h:1 2 that are up" in doubtful
    assert "say replicas=0" in doubtful
    for plain in (needed(1), confirmation_of(LABEL, None, 1, Onlookers(2))):
        assert str(plain.failure(grant, 0)).endswith("it is withdrawn")


def asked(name: str) -> Call:
    return Call(script(name), ("k", "j"), (), 0.0)


def test_only_what_was_written_is_confirmed() -> None:
    assert needs_confirmation(asked("lock_attempt"), [1, b"17"])
    assert not needs_confirmation(asked("lock_attempt"), [0, b"holder", 100])
    assert needs_confirmation(asked("lock_renew"), [1, 0, 1])
    assert not needs_confirmation(asked("lock_renew"), [1, 0, 0])
    assert not needs_confirmation(asked("lock_release"), [1])
    assert not needs_confirmation(asked("lock_renew"), StoreUnavailable("full"))


def test_waiting_ends_before_the_caller_does_and_never_lasts_for_ever() -> None:
    assert needed(2).command(60.0) == ("WAIT", "2", str(int(LIMIT * 1000)))
    assert needed(1).command(0.5) == ("WAIT", "1", "350")
    assert needed(1).command(-5.0) == ("WAIT", "1", "1")


def test_too_few_acknowledgements_are_an_error_that_counts_them() -> None:
    assert needed(2).failure(asked("lock_attempt"), 2) is None
    grant = needed(2).failure(asked("mutex_attempt"), 1)
    assert isinstance(grant, Unconfirmed)
    assert grant.partial
    assert "1 of 2 replicas" in str(grant)
    assert "lock 'k'" in str(grant)
    assert LABEL in str(grant)
    assert "a renewal" in str(needed(1).failure(asked("lock_renew"), 0))


@pytest.mark.parametrize("kind", [OutcomeUnknown, StoreMisconfigured])
def test_a_failure_to_ask_is_passed_on_as_one_of_what_was_executed(
    kind: type[StoreError],
) -> None:
    why = needed(1).failure(asked("lock_attempt"), kind("what it was"))
    assert isinstance(why, kind)
    assert why.partial
