"""One algorithm of a client on paper, and what it has asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlock.backends.zookeeper.transport.requests import awaited
from interlock.errors import StoreUnavailable
from interlock.recipes.renewal import NEVER
from interlock.steps import Listen, Park, Request, Steps, Together
from tests.support.sim.clients import Cancelled
from tests.support.sim.holds import SimWakes

from .connections import LABEL, Batch, SimConnection

#: Seconds that a question waits for a connection.
CONNECT = 5.0


class Task:
    """One algorithm under way: what it has asked for, and until when it waits."""

    def __init__(
        self, line: SimConnection, clock: Callable[[], float], steps: Steps[None]
    ) -> None:
        self._line, self._clock, self.steps = line, clock, steps
        self.request: Request | None = None
        self.batch: Batch | None = None
        self.due = NEVER

    @property
    def wakes(self) -> SimWakes | None:
        """Where it listens while it is parked."""
        wakes = self.request.wakes if type(self.request) is Park else None
        return wakes if isinstance(wakes, SimWakes) else None

    def ready(self, now: float) -> bool:
        """Whether it can go on to its next request."""
        if self.request is None:
            return False
        if self.batch is not None:
            return self.batch.done or self.due <= now
        if type(self.request) is Together:
            return self._line.connected or self.due <= now
        return self.due <= now or (self.wakes is not None and self.wakes.woken)

    def go_on(self) -> None:
        """Go on to the next request."""
        if self.batch is not None:
            self.resume(self.batch.given_up())
        elif type(self.request) is not Together:
            woken, wakes = False, self.wakes
            if wakes is not None:
                woken, wakes.woken = wakes.woken, False
            self.resume(woken)
        elif self._line.connected:
            self._send(self.request)
        else:
            self.resume(None, StoreUnavailable("out of reach", LABEL))

    def resume(self, reply: Any, error: BaseException | None = None) -> None:
        self.batch, self.due = None, NEVER
        steps = self.steps
        try:
            self.request = steps.send(reply) if error is None else steps.throw(error)
        except (StopIteration, Cancelled):
            self.request = None
        self._begin()

    def _begin(self) -> None:
        request, line = self.request, self._line
        if type(request) is Park:
            self.due = request.until
        elif type(request) is Listen:
            self.resume(line.listen(request.topics))
        elif type(request) is Together:
            if line.connected or not any(awaited(call.operation) for call in request.calls):
                self._send(request)
            else:
                until = max(call.until for call in request.calls)
                self.due = min(until, self._clock() + CONNECT)

    def _send(self, request: Together) -> None:
        until = max(call.until for call in request.calls)
        self.batch, self.due = Batch([each.operation for each in request.calls], until), until
        self._line.ask(self.batch)

    @property
    def words(self) -> str:
        """What it has asked for, for people."""
        if self.request is None:
            return "has come to its end"
        if self.batch is not None:
            return "asks " + ", ".join(type(each).__name__ for each in self.batch.asks)
        return f"waits until {self.due:.3f}"

    def close(self) -> None:
        self.steps.close()
        self.request = self.batch = None
