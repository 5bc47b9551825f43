"""A tick is claimed by one of several instances, whatever becomes of their messages.

The lock is left out on purpose: here it is granted to every instance that asks, as if all leases
had ended too early.  What is left is the register, so a tick must be begun once by that alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from interlock.backends.memory.transport.records import MemoryRecords
from interlock.errors import OutcomeUnknown, StoreUnavailable
from interlock.jobs import claims
from interlock.jobs.claims import Begun, Claimant, take_within
from interlock.jobs.history import RUNNING, History, Rules
from interlock.ledger import GRANTED, LedgerRegisters, registers
from interlock.steps import Call, Steps, nothing

TICK, FOREVER = 1000, 1e9

#: What may happen to a request: nothing, its answer is lost, it never arrives, it arrives later,
#: or its client dies before or after it was executed.
PLAIN, ANSWER_LOST, LOST, LATE, DIES, DIES_AFTER = range(6)

Choose = Callable[[int], int]


class Hold:
    """A lock that excludes no client."""

    token = 1

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def ensure(self) -> None: ...


@dataclass
class Instance:
    """One instance that comes to the tick; it asks again when the store could not be asked."""

    name: str
    rules: Rules
    by: str = "host:1"
    schedule: str = ""
    keep: float = FOREVER
    begun: int = 0
    settled: bool = False
    stopping: bool = False
    dead: bool = False
    count: int = 0

    register = (LedgerRegisters(), "r")

    def __post_init__(self) -> None:
        self.identity = self.name
        self.clock = self.wall = lambda: 0.0

    @property
    def claimant(self) -> Claimant:
        return self

    def notice(self, history: History) -> None: ...

    def acquire(self, timeout: float) -> Steps[Hold]:
        yield from nothing()
        self.count += 1
        return Hold(f"{self.name}:{self.count}")

    def release(self, hold: Hold) -> Steps[None]:
        yield from nothing()

    def run(self) -> Steps[None]:
        while not self.settled:
            try:
                taken = yield from take_within(self.claimant, TICK, FOREVER, lambda: TICK)
            except (OutcomeUnknown, StoreUnavailable):
                continue
            self.settled = True
            self.begun += isinstance(taken, Begun)


@dataclass
class Scene:
    """Instances, a store, and the requests that are under way; one schedule of many."""

    instances: list[Instance]
    faults: int
    choose: Choose
    records: MemoryRecords = field(default_factory=lambda: MemoryRecords(lambda: 0.0))
    late: list[Call] = field(default_factory=list)

    def play(self) -> None:
        going = {each.name: each.run() for each in self.instances}
        asked = {name: next(steps) for name, steps in going.items()}
        while asked:
            name = sorted(asked)[self.choose(len(asked))]
            instance = next(each for each in self.instances if each.name == name)
            self._answer(instance, going, asked, self._fault())
        while self.late:
            self._execute(self.late.pop())

    def _fault(self) -> int:
        fault = self.choose(DIES_AFTER + 1) if self.faults else PLAIN
        self.faults -= fault != PLAIN
        return fault

    def _answer(self, instance: Instance, going: Any, asked: Any, fault: int) -> None:
        name = instance.name
        call = asked.pop(name)
        reply: Any = None
        if fault in (PLAIN, ANSWER_LOST, DIES_AFTER):
            reply = self._execute(call)
        if fault == LATE:
            self.late.append(call)
        if fault in (DIES, DIES_AFTER):
            instance.dead = True
            going[name].close()
            return
        try:
            if fault == PLAIN:
                asked[name] = going[name].send(reply)
            else:
                error = StoreUnavailable("lost") if fault == LOST else OutcomeUnknown("lost")
                asked[name] = going[name].throw(error)
        except StopIteration:
            pass

    def _execute(self, call: Call) -> Any:
        # What is late arrives at the worst moment: before anything that is executed after it.
        while self.late and self.choose(2):
            late = self.late.pop()
            late.operation(self.records, *late.keys, *late.args)
        return call.operation(self.records, *call.keys, *call.args)


def schedules() -> Iterator[tuple[Choose, list[int]]]:
    """Every way to choose, one after another."""
    ways: list[list[int]] = [[]]
    while ways:
        made = ways.pop()
        widths: list[int] = []

        def choose(width: int, made: list[int] = made, widths: list[int] = widths) -> int:
            place = len(widths)
            widths.append(width)
            return made[place] if place < len(made) else 0

        yield choose, widths
        for place in range(len(widths) - 1, len(made) - 1, -1):
            begin = [*made, *[0] * (place - len(made))]
            ways += [[*begin, other] for other in range(1, widths[place])]


def explored(rules: Rules, instances: int, faults: int) -> tuple[int, set[str]]:
    """How many schedules there are, and what went wrong in them."""
    count, wrong = 0, set()
    for choose, _ in schedules():
        people = [Instance(f"instance{number}", rules) for number in range(instances)]
        Scene(people, faults, choose).play()
        count += 1
        if sum(each.begun for each in people) > 1:
            wrong.add("begun twice")
        if not any(each.begun or each.dead for each in people):
            wrong.add("never begun")
    return count, wrong


ONCE = Rules(in_order=True)


@pytest.mark.parametrize(("instances", "faults"), [(2, 1), (3, 0)])
def test_a_tick_is_begun_once_through_any_fault(instances: int, faults: int) -> None:
    count, wrong = explored(ONCE, instances, faults)

    assert wrong == set()
    assert count > 100


def test_without_comparing_versions_a_tick_is_begun_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def overwrite(
        records: MemoryRecords, name: str, text: str, version: int, keep: float
    ) -> tuple[int]:
        records.set_register(name, text, keep)
        return (GRANTED,)

    monkeypatch.setattr(registers, "write_register", overwrite)

    assert "begun twice" in explored(ONCE, 2, 0)[1]


def test_without_knowing_its_own_claim_again_a_lost_answer_loses_the_tick() -> None:
    assert "never begun" in explored(Rules(), 1, 2)[1]


def test_taking_over_from_the_dead_needs_a_lock_that_excludes() -> None:
    """What the register cannot tell is whether a runner is dead or slow: the lock can."""
    assert "begun twice" in explored(Rules({RUNNING}, in_order=True), 2, 0)[1]


def test_a_claim_that_is_not_written_first_is_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    real = claims.change

    def unwritten(claimant: Any, decided: Any, keep: float) -> Steps[Any]:
        return real(claimant, lambda history: (decided(history)[0], None), keep)

    monkeypatch.setattr(claims, "change", unwritten)

    assert "begun twice" in explored(ONCE, 2, 0)[1]
