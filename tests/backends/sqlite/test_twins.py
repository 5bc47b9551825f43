"""The file and the dictionaries of `memory://` answer alike, whatever they are asked.

Both run the same ledger; what is compared are the records below it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock import ledger
from interlock.backends.memory.transport.records import MemoryRecords
from interlock.backends.sqlite.transport import records
from interlock.backends.sqlite.transport.database import Database
from interlock.ledger import WHOLE
from interlock.model import TOMBSTONE
from interlock.steps import Call

NAMES = ("k", "j")
KINDS = ("lock", "rwlock", "semaphore", "latch")

#: No lease is a multiple of the steps of the clock, so that no instant is the end of one.
STEP_MS, LEASES = 7, (1.0, 3.0, 30.0)

#: So many owners are about at the same time; the eldest give way to new ones.
CROWD, EVER = 6, 400


def owner(name: str, number: int) -> str:
    """An owner is one acquisition, so it wants one name."""
    return f"{name}:{number}"


def in_use(records: ledger.Records) -> list[tuple[str, str]]:
    """What is in use, in no order of its own."""
    return sorted(ledger.names(records))


class Twins:
    """A file and dictionaries that are asked the same at the same instants."""

    def __init__(self, path: Path) -> None:
        self.at_ms = 1_000_000
        self._woken: list[tuple[str, str]] = []
        self._memory = MemoryRecords(lambda: self.at_ms / 1000)
        for topic in ((name, owner(name, n)) for name in NAMES for n in range(EVER)):
            self._memory.listeners[topic] = self._hears(topic)
        self._file = Database(str(path), None)
        self._file.records._instant = lambda: self.at_ms

    def _hears(self, topic: tuple[str, str]) -> Callable[[], None]:
        return lambda: self._woken.append(topic)

    def ask(self, calls: list[Call]) -> tuple[Any, Any]:
        """What the two say to the calls of one transaction, and whom they wake."""
        self._woken.clear()
        replies, handed = self._file.apply(calls)
        expected = [each.operation(self._memory, *each.keys, *each.args) for each in calls]
        return (rounded(replies), handed), (rounded(expected), self._woken)

    def close(self) -> None:
        self._file.close()


def rounded(reply: Any) -> Any:
    """Instants are floats there and whole milliseconds here."""
    if isinstance(reply, float):
        return round(reply, 3)
    if isinstance(reply, (tuple, list)):
        return [rounded(each) for each in reply]
    if hasattr(reply, "__dict__"):
        return rounded(list(vars(reply).items()))
    return reply


@pytest.fixture
def twins(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Twins]:
    twins = Twins(path)
    monkeypatch.setattr(records, "wall_us", lambda: int(twins.at_ms / 1000 * 1e6))
    monkeypatch.setattr(records, "ALIVE_MS", 1_000_000)
    yield twins
    twins.close()


class Dice:
    """Draws what to ask next.  Each name has a kind, but some owners ask for another one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._pick = self._random.choice
        self._kinds = {name: self._pick(KINDS) for name in NAMES}
        self._eldest = 0

    def calls(self) -> list[Call]:
        """Some questions that come together, and a look at everything they may have changed."""
        self._eldest = min(self._eldest + self._pick((0, 0, 1)), EVER - CROWD)
        asked = [self._call(self._pick(NAMES)) for _ in range(self._pick((1, 1, 2, 5)))]
        looks = [Call(ledger.look, (name,), (), 0.0) for name in NAMES]
        reasons = [
            Call(ledger.withdrawal_reason, (name,), (self._owner(name),), 0.0) for name in NAMES
        ]
        return [*asked, *looks, *reasons, Call(in_use, (), (), 0.0)]

    def _owner(self, name: str) -> str:
        return owner(name, self._eldest + self._random.randrange(CROWD))

    def _call(self, name: str) -> Call:
        kind = self._pick((*[self._kinds[name]] * 12, *KINDS))
        drawn = {"latch": self._latch, "semaphore": self._semaphore}.get(kind, self._lock)
        operation, *args = drawn(kind, self._owner(name))
        if operation is ledger.renew:
            args += [(each, self._owner(each)) for each in NAMES * 2]
            return Call(operation, (), tuple(args), 0.0)
        return Call(operation, (name,), tuple(args), 0.0)

    def _latch(self, kind: str, owner: str) -> tuple[Any, ...]:
        return self._pick(
            (
                (ledger.set_count, self._pick((1, 2, 3))),
                (ledger.count_down, owner),
                (ledger.pass_latch, owner, self._pick((True, False))),
                (ledger.withdraw, kind, owner),
            )
        )

    def _semaphore(self, kind: str, owner: str) -> tuple[Any, ...]:
        return self._pick(
            ((ledger.set_permits, kind, self._pick((0, 1, 4))), *[self._lock(kind, owner)] * 9)
        )

    def _lock(self, kind: str, owner: str) -> tuple[Any, ...]:
        lease, waits = self._pick(LEASES), self._pick((True, True, False))
        weight = self._pick((1, 1, 2) if kind == "semaphore" else (1, 1, WHOLE))
        return self._pick(
            (
                *[(ledger.attempt, kind, owner, lease, waits, weight, self._pick((None, 2)))] * 6,
                *[(ledger.release, kind, owner)] * 3,
                (ledger.withdraw, kind, owner, self._pick(("", "stuck"))),
                (ledger.downgrade, kind, owner, lease),
                (ledger.renew, lease),
            )
        )

    def pause_ms(self) -> int:
        return self._pick((0, 0, 0, 0, 1, 20, 200)) * STEP_MS


@pytest.mark.parametrize("seed", range(30))
def test_a_file_answers_like_memory(twins: Twins, seed: int) -> None:
    dice, end = Dice(seed), twins.at_ms + TOMBSTONE * 1000 - 5000
    while twins.at_ms < end:
        found, expected = twins.ask(dice.calls())
        assert found == expected
        twins.at_ms += dice.pause_ms()
