"""What a simulated client has while it holds, and where it hears wakes."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from interlock.model import Grant, guard, validity
from interlock.recipes.renewal import NEVER
from interlock.spi import LockStore


def _nothing() -> None:
    pass


class SimWakes:
    """A place where one simulated task hears wakes."""

    __slots__ = ("_leave", "woken")

    def __init__(self, leave: Callable[[], object] = _nothing) -> None:
        self._leave, self.woken = leave, False

    def __enter__(self) -> SimWakes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def wake(self) -> None:
        self.woken = True


class Witness(Protocol):
    """Who has to hear what becomes of a hold."""

    def renewed(self, hold: SimHold) -> None: ...
    def lost(self, hold: SimHold, cause: str) -> None: ...


class SimHold:
    """A hold as the schedule sees it: see `recipes.renewal.Kept`."""

    def __init__(
        self, store: LockStore, grant: Grant, lease: float, kept: bool, weight: int = 1
    ) -> None:
        self.store, self.grant, self.weight = store, grant, weight
        self.name, self.owner = grant.name, grant.owner
        self.lease, self.kept = lease, kept
        #: Neither lost nor being given back, as far as its client knows.
        self.standing = True
        self.until = self.renew_at = self.lost_at = self.asked = 0.0
        self.wakes = SimWakes()
        self.witness: Witness | None = None
        self.stand(grant.asked)

    def stand(self, asked: float) -> None:
        self.asked = asked
        self.until = validity(asked, self.lease)
        self.lost_at = self.until - guard(self.lease)
        self.renew_at = asked + self.lease / 3 if self.kept else NEVER

    def believed(self, now: float) -> bool:
        """Whether its client may act on it at this instant."""
        return self.standing and now < self.until

    def reference(self) -> SimHold:
        """No simulated hold goes out of reach."""
        return self

    def renewed(self, asked: float) -> None:
        # The keeper may have renewed it while the answer to an earlier question was slow.
        self.stand(max(asked, self.asked))
        if self.witness is not None:
            self.witness.renewed(self)

    def suspend(self) -> None:
        """The schedule asks again by itself."""

    def note_request(self) -> None:
        """Nobody asks in a simulation."""

    def end(self, cause: str) -> None:
        self.standing = False
        self.wakes.wake()

    def lose(self, cause: str) -> None:
        self.end(cause)
        if self.witness is not None:
            self.witness.lost(self, cause)
