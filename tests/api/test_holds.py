"""What a thread or task is just doing, where several things are done side by side."""

from __future__ import annotations

import itertools

import pytest

from interlock.session.holds import Holds

KEYS = [("lock", "a"), ("lock", "b"), ("lock", "a")]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_what_is_done_is_struck_out_in_whatever_order(order: tuple[int, ...]) -> None:
    holds = Holds()
    holds.doing = tuple(KEYS)
    left = list(KEYS)

    for place in order:
        holds.done(KEYS[place])
        left.remove(KEYS[place])
        assert sorted(holds.doing) == sorted(left)


def test_what_was_never_begun_changes_nothing() -> None:
    holds = Holds()
    holds.doing = (KEYS[0],)

    holds.done(KEYS[1])

    assert holds.doing == (KEYS[0],)
