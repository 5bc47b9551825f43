"""Tokens, and the resources that they are checked for, as callers give them."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from ..errors import StaleToken, UsageError
from ..model import checked_text
from ..words import given, shown

#: Guards keep tokens in 63 bits, as databases do.
LARGEST = 2**63 - 1


class Tokened(Protocol):
    """A hold, or anything else that has a fencing token."""

    @property
    def token(self) -> int: ...


Token: TypeAlias = int | Tokened


def checked_token(token: Any, argument: str = "token") -> int:
    """The number of a token, which may be given by the hold that has it."""
    if hasattr(token, "tokens"):
        raise TypeError(
            f"{argument} must be one token, and several locks have one each: "
            "pass hold.tokens[0], or that of the lock which protects this resource"
        )
    number = getattr(token, "token", token)
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{argument} must be a hold, or its token as an int, not {given(token)}")
    if not 0 <= number <= LARGEST:
        raise UsageError(f"{argument} must be between 0 and 2**63 - 1, not {shown(number)}")
    return number


def checked_resource(resource: object) -> str:
    """What is fenced, by its name."""
    name = checked_text("resource", resource, " such as 'orders:42'")
    if not name:
        raise UsageError("resource must not be empty")
    return name


def refuse_stale(resource: str, token: int, newest: int | None) -> None:
    """Raise StaleToken if a newer token has been seen.  An equal one is the same holder's."""
    if newest is not None and newest > token:
        raise StaleToken(resource, token, newest)
