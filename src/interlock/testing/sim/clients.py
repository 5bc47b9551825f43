"""Simulated clients: the real recipes, run for a plan, and the state of each run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

from ...errors import AcquireTimeout, InterlockError, OutcomeUnknown, StoreUnavailable
from ...events import Event
from ...recipes.keep import BY_ANSWER, NEVER, Owed, Rota, keep
from ...recipes.lock import WITHDRAWAL, Seeking
from ...steps import Park, Request, Steps, park
from ...stores import LockStore, RwStore
from .holds import SimHold, SimWakes
from .scenario import NAME, Plan, Scenario

if TYPE_CHECKING:
    from .watch import Watch

#: Seconds for which a release may wait for its answer.
RELEASE = 5.0


class Cancelled(BaseException):
    """A cancellation or a Ctrl-C, as a recipe sees it."""


class Task:
    """One algorithm under way: what it has asked for, and until when it waits."""

    __slots__ = ("client", "due", "main", "reply", "request", "steps")

    def __init__(self, client: Client, steps: Steps[None], main: bool) -> None:
        self.client, self.steps, self.main = client, steps, main
        self.request: Request | None = None
        #: When it goes on: the end of a pause, or of waiting for a slow reply.
        self.due: float | None = None
        #: A reply that is on its way, or the error in its place.
        self.reply: tuple[Any, BaseException | None] | None = None

    @property
    def done(self) -> bool:
        return self.request is None

    @property
    def parked(self) -> bool:
        return self.due is not None and self.reply is None

    @property
    def wakes(self) -> SimWakes | None:
        wakes = self.request.wakes if type(self.request) is Park else None
        return wakes if isinstance(wakes, SimWakes) else None

    def ripe(self, now: float) -> bool:
        """Whether its waiting is over."""
        if self.due is None:
            return False
        wakes = self.wakes
        return self.due <= now or (self.reply is None and wakes is not None and wakes.woken)


class Client:
    """A process that follows its plan, with a keeper beside it if the plan says so."""

    def __init__(
        self,
        number: int,
        plan: Plan,
        scenario: Scenario,
        watch: Watch,
        clock: Callable[[], float],
    ) -> None:
        self.number, self.plan, self.scenario = number, plan, scenario
        self.watch, self.clock = watch, clock
        self.dead = self.subscribed = False
        self.paused = -NEVER
        #: All that it was told so far, and when: this decides everything it will do.
        self.told = 0
        self.rota = Rota(nullcontext())
        self.bell = SimWakes()
        self.tasks = [Task(self, self._program(), main=True)]
        if plan.kept:
            keeping = keep(self.rota, self.bell, clock, _no_errand)
            self.tasks.append(Task(self, keeping, main=False))

    @property
    def finished(self) -> bool:
        return all(task.done for task in self.tasks)

    def hear(self, *what: object) -> None:
        self.told = hash((self.told, self.clock(), what))

    def _program(self) -> Steps[None]:
        for count in range(self.plan.times):
            if not self.plan.kept:
                self.told = hash(count)  # nothing of the past matters from here on
            yield from self._turn(f"{self.number}:{count + 1}")

    def _turn(self, owner: str) -> Steps[None]:
        seeking = self._seeking(owner)
        try:
            grant = yield from self.scenario.acquire(seeking)
        except GeneratorExit:
            raise
        except BaseException as error:
            self.watch.failed(error)
            if isinstance(error, (AcquireTimeout, InterlockError)):
                return
            raise
        terms = self.plan.lease, self.plan.kept, self.plan.want.weight
        yield from self._hold(self.scenario.hold(seeking.store, grant, *terms))

    def _seeking(self, owner: str) -> Seeking:
        began, plan = self.clock(), self.plan
        return Seeking(
            plan.want.store,
            NAME,
            owner,
            plan.lease,
            began,
            began + plan.wait,
            self.clock,
            jitter=plan.jitter,
            trial=plan.trial,
            host=self,
            crowded=plan.crowded,
        )

    def _hold(self, hold: SimHold) -> Steps[None]:
        hold.witness = self.watch
        self.watch.granted(hold)
        if self.plan.kept and self.rota.add(hold):
            self.bell.wake()
        interruption = None
        try:
            yield from self._work(hold)
        except GeneratorExit:
            raise
        except BaseException as error:
            interruption = error
        yield from self._give_back(hold)
        if interruption is not None:
            raise interruption

    def _work(self, hold: SimHold) -> Steps[None]:
        yield from park(hold.wakes, self.clock() + self.plan.work)
        if self.plan.downgrades and hold.standing:
            yield from self._downgrade(hold)
            yield from park(hold.wakes, self.clock() + self.plan.work)

    def _downgrade(self, hold: SimHold) -> Steps[None]:
        """Count as a reader from the question on, whatever becomes of the answer."""
        hold.weight, asked = 1, self.clock()
        store, until = cast("RwStore", hold.store), asked + RELEASE
        try:
            done = yield from store.downgrade(hold.name, hold.owner, hold.lease, until)
        except (OutcomeUnknown, StoreUnavailable):
            return
        self.watch.turned(hold, done)
        if done:
            hold.renewed(asked)
            self.rota.settle(hold)
        elif self.rota.drop(hold):
            hold.lose(BY_ANSWER)
        else:
            hold.standing = False

    def _give_back(self, hold: SimHold) -> Steps[None]:
        stood, hold.standing = hold.standing, False
        self.rota.drop(hold)
        until = self.clock() + RELEASE
        try:
            released = yield from self.scenario.release(hold.store, hold.grant, until)
        except (OutcomeUnknown, StoreUnavailable):
            self.owe(hold.store, hold.name, hold.owner, hold.lease)
        except GeneratorExit:
            raise
        except BaseException as interruption:
            if getattr(interruption, "__notes__", None):
                self.watch.unconfirmed.add(hold.owner)
            raise
        else:
            self.watch.released(hold, stood, released)

    def tell(self, event: Event) -> None:
        """Nobody watches events here."""

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        self.watch.owed(owner)
        if self.plan.kept:
            at = self.clock()
            self.rota.owe(Owed(store, name, owner, at + lease + WITHDRAWAL, at))
            self.bell.wake()

    def retire_keeper(self) -> None:
        """End the keeper once the program has ended and nothing is left to do for it."""
        if not self.tasks[0].done or self.rota.closed:
            return
        if self.tasks[1].due == NEVER and not self.bell.woken:
            self.rota.closed = True
            self.bell.wake()


def _no_errand(until: float) -> Steps[float]:
    return NEVER
    yield
