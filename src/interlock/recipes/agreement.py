"""What a majority of several voters says, as soon as that is certain.  Pure."""

from __future__ import annotations

from collections.abc import Sequence


def majority(voters: int) -> int:
    """How many of so many are more than half."""
    return voters // 2 + 1


def agreed(voters: int, answers: Sequence[bool | None]) -> bool | None:
    """Whether a majority says yes; None while, or where, that cannot be told.

    An answer is None where there is none: the voter may say yes or no.
    """
    enough = majority(voters)
    if answers.count(True) >= enough:
        return True
    return False if answers.count(False) > voters - enough else None
