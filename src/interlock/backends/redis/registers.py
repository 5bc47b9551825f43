"""Registers: a hash for each, with its text and its version."""

from __future__ import annotations

from typing import Any

from ...ledger import GRANTED
from ...model import Register
from ...steps import Steps, call
from .keys import own_key
from .scripts import ms, script, text

#: Seconds: a hundred years, so that what is kept for ever needs no command of its own.
FOR_EVER = 100 * 365.25 * 86_400


class RedisRegisters:
    """See `spi.RegisterStore`.  Every operation is one round trip."""

    def __init__(self) -> None:
        self._read, self._write = script("register_read"), script("register_write")

    def fetch(self, name: str, until: float) -> Steps[Register | None]:
        return call(self._read, (own_key("register", name),), (), until, _read)

    def swap(self, name: str, text: str, version: int, keep: float, until: float) -> Steps[bool]:
        args = (text, version, ms(min(keep, FOR_EVER)))
        return call(self._write, (own_key("register", name),), args, until, _written)


def _read(key: str, answer: Any) -> Register | None:
    return Register(text(answer[1]), int(answer[2])) if answer[0] == GRANTED else None


def _written(key: str, answer: Any) -> bool:
    return bool(answer[0] == GRANTED)
