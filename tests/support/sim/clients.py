"""Simulated clients: the real recipes, run for a plan, and the state of each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, LockLost, OutcomeUnknown, StoreUnavailable
from interlock.model import Terms, guard
from interlock.recipes import holding
from interlock.recipes.keeper_round import keep
from interlock.recipes.lease import Lease
from interlock.recipes.lock import Acquisition
from interlock.recipes.renewal import NEVER
from interlock.recipes.rw_lease import downgrade
from interlock.spi import LockStore
from interlock.steps import Park, Request, Steps, park

from .holds import SimWakes
from .leases import SimLease
from .scenario import NAME, Plan, Scenario
from .sessions import SimSession

if TYPE_CHECKING:
    from .watch import Watch


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


class Wish:
    """What a plan wants: see `recipes.hosts.Wanted`."""

    def __init__(self, plan: Plan, scenario: Scenario) -> None:
        self.store, self.key = plan.want.store, (plan.want.store.kind, NAME)
        self.terms = Terms(plan.lease, plan.kept, None, guard(plan.lease))
        rw = plan.want.store.kind == "rwlock"
        self.lease_class: type[Lease] = scenario.rw_lease if rw else scenario.lease

    def wrap(self, lease: Lease) -> Any:
        return lease

    def enter(self, lease: Lease, holds: Any, again: bool = False) -> None:
        """Plans have no blocks."""

    def abandon(self, lease: Lease, holds: Any) -> None:
        """Plans have no blocks."""


class Client(SimSession):
    """A process that follows its plan, with a keeper beside it if the plan says so."""

    def __init__(
        self,
        number: int,
        plan: Plan,
        scenario: Scenario,
        watch: Watch,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(clock)
        self.number, self.plan, self.scenario, self.watch = number, plan, scenario, watch
        self.dead = self.subscribed = False
        self.paused = -NEVER
        #: All that it was told so far, and when: this decides everything it will do.
        self.told = 0
        self._wish, self._counts = Wish(plan, scenario), self._count()
        if plan.was_busy:
            self.busy_names.add(self._wish.key)
        self.tasks = [Task(self, self._program(), main=True)]
        if plan.kept:
            keeping = keep(self.schedule, self.bell, clock, _no_introduction)
            self.tasks.append(Task(self, keeping, main=False))

    def _count(self) -> Iterator[str]:
        count = 0
        while True:
            count += 1
            yield f"{self.number}:{count}"

    @property
    def finished(self) -> bool:
        return all(task.done for task in self.tasks)

    def hear(self, *what: object) -> None:
        self.told = hash((self.told, self.clock(), what))

    def next_owner(self, store: LockStore) -> str:
        return next(self._counts)

    def acquisition(
        self, store: LockStore, name: str, terms: Terms, timeout: float, try_once: bool
    ) -> Acquisition:
        acquisition = super().acquisition(store, name, terms, timeout, try_once)
        acquisition.jitter = self.plan.jitter
        return acquisition

    # --- the plan --------------------------------------------------------------------------

    def _program(self) -> Steps[None]:
        for count in range(self.plan.times):
            if not self.plan.kept:
                self.told = hash(count)  # nothing of the past matters from here on
            yield from self._turn()

    def _turn(self) -> Steps[None]:
        try:
            lease = yield from holding.acquire(
                self, self._wish, self.plan.wait, try_once=self.plan.try_once
            )
        except GeneratorExit:
            raise
        except BaseException as error:
            self.watch.failed(error)
            if isinstance(error, InterlockError):
                return
            raise
        yield from self._hold(lease)

    def _hold(self, lease: SimLease) -> Steps[None]:
        interruption = None
        try:
            yield from self._work(lease)
        except GeneratorExit:
            raise
        except BaseException as error:
            interruption = error
        yield from self._give_back(lease)
        if interruption is not None:
            raise interruption

    def _work(self, lease: SimLease) -> Steps[None]:
        yield from park(lease.wakes, self.clock() + self.plan.work)
        if self.plan.downgrades and lease.standing:
            yield from self._downgrade(lease)
            yield from park(lease.wakes, self.clock() + self.plan.work)

    def _downgrade(self, lease: Any) -> Steps[None]:
        try:
            yield from downgrade(self, lease)
        except (OutcomeUnknown, StoreUnavailable):
            return
        except LockLost:
            self.watch.turned(lease, done=False)
        else:
            self.watch.turned(lease, done=True)

    def _give_back(self, lease: SimLease) -> Steps[None]:
        stood, began = lease.standing, self.clock()
        try:
            yield from holding.release(self, lease)
        except LockLost:
            self.watch.denied(lease, stood, began)
        except (OutcomeUnknown, StoreUnavailable):
            pass  # it is owed
        except GeneratorExit:
            raise
        except BaseException as interruption:
            if not getattr(interruption, "__notes__", None):
                self.watch.unconfirmed.discard(lease.owner)
            raise
        else:
            self.watch.released(lease, began)

    # --- what has to be watched ----------------------------------------------------------

    def granted(self, lease: SimLease) -> None:
        lease.wanted = self.plan.want.weight
        self.watch.granted(lease)

    def renewed(self, lease: SimLease) -> None:
        self.watch.renewed(lease)

    def lost(self, lease: SimLease, cause: str) -> None:
        self.watch.lost(lease, cause, self.plan.kept)

    def owed(self, owner: str) -> None:
        self.watch.owed(owner)

    def retire_keeper(self) -> None:
        """End the keeper once the program has ended and nothing is left to do for it."""
        if not self.tasks[0].done or self.schedule.closed:
            return
        if self.tasks[1].due == NEVER and not self.bell.woken:
            self.schedule.closed = True
            self.bell.wake()


def _no_introduction(until: float) -> Steps[float]:
    return NEVER
    yield
