"""Every claim about what five servers can vote on, in both worlds."""

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

#: What needs a fair_lock, a semaphore or a latch as well: for the kinds that there are see
#: `tests/backends/redis/redlock/test_rw_quorum.py::test_a_name_is_one_kind_of_thing`.
NEEDS_OTHER_KINDS = {
    "test_an_onlooker_finds_everything_that_is_in_use",
    "test_an_onlooker_of_the_wrong_kind_is_told_so",
    "test_a_name_in_use_as_another_kind_is_refused_and_not_touched",
    "test_a_name_that_is_free_may_become_another_kind",
    "test_a_sibling_is_refused_another_kind_as_well",
    "test_another_loop_is_refused_at_once_whatever_it_asks",
    "test_without_any_loop_an_asyncio_client_says_what_it_needs",
}

LEFT_OUT = NEEDS_ONE_PLACE | COUNTS_ALL | NEEDS_OTHER_KINDS

KINDS = ("lock", "mutex", "rwlock.write", "rwlock", "election")

CASES = [case for case in cases(["redlock"], KINDS) if case.claim.__name__ not in LEFT_OUT]


@pytest.mark.server
@pytest.mark.parametrize("case", CASES, ids=str)
def test_claim(case: Case, redlock_url: str) -> None:
    case.prove(lambda: find_backend(redlock_url, {}))


def test_what_is_left_out_are_claims() -> None:
    assert {claim.__name__ for claim in every_claim()} >= LEFT_OUT
    assert len(CASES) > 600
