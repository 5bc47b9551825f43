"""Driving a recipe by hand: every request is seen, every reply is given by the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from interlock.events import Event
from interlock.model import Busy, validity
from interlock.recipes.lock import Acquisition, Silence
from interlock.spi import LockStore
from interlock.steps import Call, Elsewhere, Listen, Park, Request, Steps, call
from tests.support.sim.holds import SimWakes

OWNER = "client-1:7"
OTHER = "client-2:3"


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Paper:
    """A store on paper: its answers are whatever the test sends."""

    kind, kind_code, reentrant, shared = "lock", "1", True, False
    leases_expire, own_places = True, False
    takes_turns = False

    def effective_lease(self, lease: float) -> float:
        return lease

    def valid_until(self, asked: float, lease: float) -> float:
        return validity(asked, lease)

    def for_wait(self, timeout: float) -> Paper:
        return self

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[Any]:
        return (yield from call("attempt", (name,), (owner, lease, waits), until))

    def release(self, name: str, owner: str, until: float) -> Steps[Any]:
        return (yield from call("release", (name,), (owner,), until))

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[Any]:
        args = (owner, reason) if reason else (owner,)
        return (yield from call("withdraw", (name,), args, until))

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[Any]:
        return (yield from call("withdrawal_reason", (name,), (owner,), until))

    def renew(self, holds: Sequence[tuple[str, str]], lease: float, until: float) -> Steps[Any]:
        return (yield from call("renew", (), (tuple(holds), lease), until))

    def look(self, name: str, until: float) -> Steps[Any]:
        return (yield from call("look", (name,), (), until))

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return (name, owner)


class Place(SimWakes):
    """A place where wakes are heard; knows whether it was left."""

    def __init__(self) -> None:
        super().__init__(self._leave)
        self.left = False

    def _leave(self) -> None:
        self.left = True


class Hand:
    """Steps under way: the present request, those before it, and how it all ended."""

    def __init__(self, steps: Steps[Any]) -> None:
        self.steps = steps
        self.requests: list[Request] = []
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._move(lambda: next(steps))

    def reply(self, reply: Any = None) -> Hand:
        """Answer the present request."""
        return self._move(lambda: self.steps.send(reply))

    def fail(self, error: BaseException) -> Hand:
        """Let the present request fail."""
        return self._move(lambda: self.steps.throw(error))

    def _move(self, go: Callable[[], Request]) -> Hand:
        assert not self.done, "there is nothing to answer any more"
        try:
            self.requests.append(go())
        except StopIteration as end:
            self.done, self.result = True, end.value
        except BaseException as error:
            self.done, self.error = True, error
        return self

    @property
    def story(self) -> list[str]:
        """Everything that was asked for, in words."""
        return [words(request) for request in self.requests]

    @property
    def request(self) -> Any:
        assert not self.done, f"ended with {self.error!r} or {self.result!r}"
        return self.requests[-1]


def words(request: Request) -> str:
    """A request in words: `attempt`, `attempt, waiting`, `park until 102`."""
    if isinstance(request, Call):
        waits = request.operation == "attempt" and request.args[2]
        return f"{request.operation}, waiting" if waits else str(request.operation)
    if isinstance(request, Park):
        return f"{'pause' if request.wakes is None else 'park'} until {request.until:.6g}"
    if isinstance(request, Elsewhere):
        return "elsewhere"
    return "listen" if isinstance(request, Listen) else "together"


class Case:
    """One acquisition by hand, with a clock to move and a record of what was told."""

    def __init__(self, timeout: float = 60.0, lease: float = 30.0, **wishes: Any) -> None:
        self.clock, self.store, self.silence = Clock(), Paper(), Silence()
        self.told: list[Event] = []
        self.owed: list[tuple[LockStore, str, str, float]] = []
        deadline = self.clock() + timeout
        self.seeking = Acquisition(
            self.store,
            "name",
            OWNER,
            lease,
            self.clock(),
            deadline,
            self.clock,
            host=self,
            **wishes,
        )

    def notify(self, event: Event) -> None:
        self.told.append(event)

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        self.owed.append((store, name, owner, lease))

    def busy(self, left: float | None = 30.0, silent: bool = False) -> Busy:
        return Busy(OTHER, left, silent)
