"""What a claim is about, where it is not about everything that one alone can hold.

A module that sets `ABOUT` says it of all its claims; `only` says it of one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .subjects import KINDS, SUBJECTS
from .world import FACES, ClientFace

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ClaimScope:
    """What a claim is about."""

    kinds: tuple[str, ...]
    faces: tuple[ClientFace, ...] = FACES

    def cover(self, face: ClientFace, kind: str) -> bool:
        return face in self.faces and kind in self.kinds


def only(
    *, kinds: tuple[str, ...] | None = None, faces: tuple[ClientFace, ...] = FACES
) -> Callable[[F], F]:
    """Say that a claim is about some kinds or faces only."""
    if not set(kinds or ()) <= set(SUBJECTS):
        raise ValueError(f"there is no such thing among {kinds}")

    def mark(claim: F) -> F:
        vars(claim)["contract_scope"] = ClaimScope(kinds or _about(claim), faces)
        return claim

    return mark


def scope_of(claim: Callable[..., Any]) -> ClaimScope:
    """For which kinds and faces a claim is meant."""
    scope: ClaimScope | None = vars(claim).get("contract_scope")
    return ClaimScope(_about(claim)) if scope is None else scope


def _about(claim: Callable[..., Any]) -> tuple[str, ...]:
    """What the module of a claim is about."""
    about: tuple[str, ...] = getattr(sys.modules[claim.__module__], "ABOUT", tuple(KINDS))
    return about
