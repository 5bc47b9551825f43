"""Waiting for what must come true soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def eventually(condition: Callable[[], Any], within: float = 5.0) -> Any:
    """Wait until a condition holds, and return what it said."""
    deadline = time.monotonic() + within
    while True:
        if said := condition():
            return said
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {_place_of(condition)}")
        time.sleep(0.002)


def _place_of(condition: Callable[[], Any]) -> str:
    code = getattr(condition, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(condition)
