"""Every claim × every backend × both worlds × both kinds of lock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.api.connect import find_backend
from interlock.testing.contract import FACES, KINDS, Case, cases, every_claim

from .conftest import STORES

CASES = cases(STORES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_claim(case: Case, url_of: Callable[[str], str]) -> None:
    url = url_of(case.backend)

    case.prove(lambda: find_backend(url, {}))


def test_every_claim_is_proved_somewhere_and_every_place_has_claims() -> None:
    assert {case.claim for case in CASES} == set(every_claim())
    assert {(case.backend, case.face, case.kind) for case in CASES} == {
        (backend, face, kind) for backend in STORES for face in FACES for kind in KINDS
    }
    assert len({str(case) for case in CASES}) == len(CASES)
