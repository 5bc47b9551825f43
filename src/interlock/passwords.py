"""Passwords that are asked for when they are needed, so that they can change meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .errors import StoreMisconfigured, StoreUnavailable

#: A password, or a function that is asked for it at each connection (for rotation).
Password: TypeAlias = "str | Callable[[], str]"


def asked(password: Password, label: str) -> str:
    """The password of this moment; what a function raises is told without what it says."""
    if not callable(password):
        return password
    try:
        answer = password()
    except Exception as error:
        kind = type(error).__name__
        raise StoreUnavailable(
            f"the password function for {label} raised {kind}", label
        ) from error
    if not isinstance(answer, str):
        raise StoreMisconfigured(f"the password function for {label} did not return a str", label)
    return answer
