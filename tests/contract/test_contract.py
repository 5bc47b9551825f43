"""Every claim × every backend × both worlds × everything that it is about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.api.connect import find_backend
from interlock.testing.contract import FACES, KINDS, SUBJECTS, Case, World, cases, every_claim
from interlock.testing.contract.scope import only, scope_of
from interlock.testing.contract.world import ASYNCIO

from .conftest import ROUND_TRIPS, SAME_CODE, STORES, is_redundant

CASES = cases(STORES)

#: The same, of which those that repeat what is proved elsewhere are marked.
PARAMS = [
    pytest.param(case, marks=[pytest.mark.redundant] if is_redundant(case) else [])
    for case in CASES
]

#: What a claim of this module is about, if it does not say so itself.
ABOUT = ("rwlock", "latch")


@pytest.mark.parametrize("case", PARAMS, ids=str)
def test_claim(case: Case, url_of: Callable[[str], str]) -> None:
    url = url_of(case.backend)

    case.prove(lambda: find_backend(url, {}), ROUND_TRIPS[case.backend](case.kind))


def test_every_claim_is_proved_somewhere_and_every_place_has_claims() -> None:
    assert {case.claim for case in CASES} == set(every_claim())
    assert {(case.backend, case.face, case.kind) for case in CASES} == {
        (backend, face, kind) for backend in STORES for face in FACES for kind in SUBJECTS
    }
    assert len({str(case) for case in CASES}) == len(CASES)


def test_what_is_redundant_is_proved_elsewhere_and_every_place_keeps_claims() -> None:
    proved = [case for case in CASES if not is_redundant(case)]
    facts = {(case.backend, case.face, case.kind, case.claim) for case in proved}

    for case in filter(is_redundant, CASES):
        elsewhere, _ = SAME_CODE[case.backend]
        assert (elsewhere, case.face, case.kind, case.claim) in facts
    assert {(case.backend, case.face, case.kind) for case in proved} == {
        (case.backend, case.face, case.kind) for case in CASES
    }


def test_what_is_claimed_of_a_lock_is_claimed_of_everything_that_one_alone_can_hold() -> None:
    everywhere = {claim for claim in every_claim() if scope_of(claim).kinds == tuple(KINDS)}

    assert len(everywhere) > 60
    for kind in KINDS:
        assert everywhere <= {case.claim for case in CASES if case.kind == kind}


async def claim(world: World) -> None: ...


@only(faces=(ASYNCIO,))
async def claim_of_tasks(world: World) -> None: ...


@only(kinds=("lock",))
async def claim_of_locks(world: World) -> None: ...


def test_a_claim_is_about_what_its_module_says_or_it_says_itself() -> None:
    assert scope_of(claim).kinds == scope_of(claim_of_tasks).kinds == ABOUT
    assert scope_of(claim_of_locks).kinds == ("lock",)
    assert scope_of(claim).faces == scope_of(claim_of_locks).faces == FACES
    assert scope_of(claim_of_tasks).faces == (ASYNCIO,)


def test_a_claim_about_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="loch"):
        only(kinds=("lock", "loch"))
