"""Every claim about locks, mutexes and elections on five servers that vote, in both worlds."""

from __future__ import annotations

import pytest

from interlock.api.connect import find_backend
from interlock.testing.contract import Case, cases, every_claim

#: What needs one place where it is known who came first, and how many wait; or a store that
#: answers all alike, so that of those who ask at the same moment one must get it.
NEEDS_ONE_PLACE = {
    "test_a_try_does_not_overtake_who_waits",
    "test_clients_are_served_in_the_order_of_their_arrival",
    "test_an_onlooker_sees_how_many_wait",
    "test_to_look_changes_nothing",
    "test_a_body_that_ends_resigns_and_stands_again",
    "test_one_of_many_tries_gets_what_one_alone_can_hold",
}

#: What counts round trips, or looks, of which a machine that is short of time may take one more:
#: see `tests/backends/redis/redlock/test_quorum.py` for how many, and for wakes.
COUNTS_ALL = {
    "test_a_thousand_tasks_share_a_lock",
    "test_a_waiter_is_parked_woken_granted_and_released",
}

CASES = [
    case
    for case in cases(["redlock"], kinds=("lock", "mutex", "election"))
    if case.claim.__name__ not in NEEDS_ONE_PLACE | COUNTS_ALL
]


@pytest.mark.server
@pytest.mark.parametrize("case", CASES, ids=str)
def test_claim(case: Case, redlock_url: str) -> None:
    case.prove(lambda: find_backend(redlock_url, {}))


def test_what_is_left_out_are_claims() -> None:
    assert {claim.__name__ for claim in every_claim()} >= NEEDS_ONE_PLACE | COUNTS_ALL
    assert len(CASES) > 400
