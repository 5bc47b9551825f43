"""Registers: texts that are changed by compare-and-set."""

from __future__ import annotations

from typing import Any

from ..model import Register
from .records import BUSY, GRANTED, Records


def read_register(records: Records, name: str) -> Register | None:
    """The text of a name and its version.  Changes nothing."""
    return records.register(name)


def write_register(
    records: Records, name: str, text: str, version: int, keep: float
) -> tuple[Any, ...]:
    """Replace one version of a text.  A repetition finds another version, and changes nothing."""
    register = records.register(name)
    if (0 if register is None else register.version) != version:
        return (BUSY,)
    records.set_register(name, text, keep)
    return (GRANTED,)
