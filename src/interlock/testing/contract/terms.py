"""For which kinds of lock and which faces a claim is meant, where it is not for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .world import FACES, KINDS, Face

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Terms:
    """What a claim is about."""

    kinds: tuple[str, ...] = KINDS
    faces: tuple[Face, ...] = FACES

    def cover(self, face: Face, kind: str) -> bool:
        return face in self.faces and kind in self.kinds


def only(*, kinds: tuple[str, ...] = KINDS, faces: tuple[Face, ...] = FACES) -> Callable[[F], F]:
    """Say that a claim is about some kinds or faces only."""

    def mark(claim: F) -> F:
        vars(claim)["contract_terms"] = Terms(kinds, faces)
        return claim

    return mark


def terms_of(claim: Callable[..., Any]) -> Terms:
    """For which kinds and faces a claim is meant."""
    terms: Terms = vars(claim).get("contract_terms", Terms())
    return terms
