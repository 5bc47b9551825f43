"""Registers are changed by compare-and-set, on every store."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import pytest

from interlock.drive import now
from interlock.model import Register
from interlock.steps import Steps
from tests.support.worlds import World

NAMES = ("job:report", "a/b", "ä {tag} b", "x" * 300)


class Registers:
    """The registers of a client, asked one after another."""

    def __init__(self, world: World, client: Any) -> None:
        self._world, self._session = world, client._session
        self._store = client._session.backend.registers

    def read(self, name: str) -> Register | None:
        found: Register | None = self._run(lambda: self._store.fetch(name, now() + 5))
        return found

    def write(self, name: str, text: str, version: int, keep: float = math.inf) -> bool:
        return bool(self._run(lambda: self._store.swap(name, text, version, keep, now() + 5)))

    def _run(self, steps: Any) -> Any:
        def ask() -> Any:
            made: Steps[Any] = steps()
            return self._session.run(made)

        return self._world.do(ask)


@pytest.fixture
def registers(world: World, url: str) -> Registers:
    return Registers(world, world.connect(url))


@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_is_read(registers: Registers, name: str) -> None:
    assert registers.read(name) is None
    assert registers.write(name, "eins, zwei, drüber", 0)

    found = registers.read(name)

    assert found is not None
    assert found.text == "eins, zwei, drüber"


def test_only_the_version_that_was_read_is_replaced(registers: Registers) -> None:
    registers.write("r", "first", 0)
    first = registers.read("r")
    assert first is not None

    assert not registers.write("r", "too late", 0)
    assert registers.write("r", "second", first.version)
    assert not registers.write("r", "second", first.version)
    second = registers.read("r")

    assert second is not None
    assert second.text == "second"
    assert second.version != first.version


def test_a_text_ends_and_can_be_written_anew(registers: Registers) -> None:
    registers.write("r", "brief", 0, keep=0.2)
    brief = registers.read("r")
    time.sleep(0.25)

    assert registers.read("r") is None
    assert registers.write("r", "again", 0)
    again = registers.read("r")

    assert brief is not None
    assert again is not None
    assert again.text == "again"
    assert not registers.write("r", "of the text that has ended", brief.version)


def test_of_many_writers_one_is_first(world: World, url: str) -> None:
    sessions = [world.connect(url)._session for _ in range(8)]
    writes = [
        partial(session.backend.registers.swap, "r", f"writer {number}", 0, math.inf)
        for number, session in enumerate(sessions)
    ]

    def write(session: Any, made: Any) -> Any:
        return world.start(lambda: session.run(made(now() + 5)))

    started = [write(*each) for each in zip(sessions, writes, strict=True)]
    won = [each.result(10) for each in started]

    assert won.count(True) == 1
