"""What a claim is about, where it is not about everything that one alone can hold.

A module that sets `ABOUT` says it of all its claims; `only` says it of one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .subjects import KINDS, SUBJECTS
from .world import FACES, Face

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Terms:
    """What a claim is about."""

    kinds: tuple[str, ...]
    faces: tuple[Face, ...] = FACES

    def cover(self, face: Face, kind: str) -> bool:
        return face in self.faces and kind in self.kinds


def only(
    *, kinds: tuple[str, ...] | None = None, faces: tuple[Face, ...] = FACES
) -> Callable[[F], F]:
    """Say that a claim is about some kinds or faces only."""
    if not set(kinds or ()) <= set(SUBJECTS):
        raise ValueError(f"there is no such thing among {kinds}")

    def mark(claim: F) -> F:
        vars(claim)["contract_terms"] = Terms(kinds or _about(claim), faces)
        return claim

    return mark


def terms_of(claim: Callable[..., Any]) -> Terms:
    """For which kinds and faces a claim is meant."""
    terms: Terms | None = vars(claim).get("contract_terms")
    return Terms(_about(claim)) if terms is None else terms


def _about(claim: Callable[..., Any]) -> tuple[str, ...]:
    """What the module of a claim is about."""
    about: tuple[str, ...] = getattr(sys.modules[claim.__module__], "ABOUT", tuple(KINDS))
    return about
