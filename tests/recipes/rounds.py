"""A keeper under the test's hand."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from interlock.model import Grant, validity
from interlock.recipes.keeper_round import keep
from interlock.recipes.renewal import PendingWithdrawal, RenewalSchedule
from interlock.steps import Steps
from tests.support.sim import SimHold

from .hand import Clock, Hand, Paper, Place

LEASE = 12.0


class Watched(SimHold):
    """A hold that writes down what becomes of it."""

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.fate: list[str] = []
        self.told: list[str] = []

    def suspend(self) -> None:
        self.told.append("suspended")

    def note_request(self) -> None:
        self.told.append("wanted")

    def lose(self, cause: str) -> None:
        super().lose(cause)
        self.fate.append(cause)


class Round:
    """A keeper under the test's hand, with some holds on its schedule."""

    def __init__(self, holds: int = 1, kept: bool = True) -> None:
        self.clock, self.store, self.wakes = Clock(), Paper(), Place()
        self.schedule = RenewalSchedule(nullcontext())
        self.holds = [self.new_hold(number, kept) for number in range(holds)]
        self.introductions: list[float] = []
        self.hand = Hand(keep(self.schedule, self.wakes, self.clock, self.introduce))

    def new_hold(self, number: int, kept: bool = True) -> Watched:
        now = self.clock()
        grant = Grant(f"name {number}", f"owner:{number}", 1, now, validity(now, LEASE))
        hold = Watched(self.store, grant, LEASE, kept)
        self.schedule.add(hold)
        return hold

    def introduce(self, until: float) -> Steps[float]:
        self.introductions.append(self.clock())
        return 1000.0
        yield

    def wait(self) -> Hand:
        """Let the keeper sleep until the instant for which it asked."""
        self.clock.now = self.hand.request.until
        return self.hand.reply(False)

    def owe(self, expires: float) -> None:
        now = self.clock()
        self.schedule.owe(PendingWithdrawal(self.store, "name", "owner:9", expires, now))
