"""A client on paper: it follows its plan, with a keeper beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from interlock.backends.zookeeper.namespace import Namespace
from interlock.errors import InterlockError, LockLost, OutcomeUnknown, StoreUnavailable
from interlock.model import Terms, guard
from interlock.recipes import holding
from interlock.recipes.keeper_round import keep
from interlock.recipes.lease import Lease
from interlock.recipes.renewal import NEVER
from interlock.recipes.rw_lease import downgrade
from interlock.spi import LockStore
from interlock.steps import Steps, park
from tests.support.sim import SimLease, SimRwLease
from tests.support.sim.clients import Cancelled
from tests.support.sim.sessions import SimSession

from .connections import LABEL, SimConnection
from .scenario import NAME, Plan
from .tasks import Task

if TYPE_CHECKING:
    from .ensembles import Ensemble
    from .watch import Watch


def identity_of(client: int) -> str:
    """Who a client is: a UUID of version 8 that ends in zeros, as the product's."""
    return str(UUID(bytes=bytes([client + 1] * 6 + [0x80, 0, 0x80, 0]) + bytes(6)))


class Wish:
    """What a plan wants: see `recipes.hosts.Wanted`."""

    def __init__(self, plan: Plan, store: LockStore) -> None:
        self.store, self.key = store, (store.kind, NAME)
        self.terms = Terms(plan.lease, True, None, guard(plan.lease))
        self.lease_class: type[Lease] = SimRwLease if plan.want.turns else SimLease

    def wrap(self, lease: Lease) -> Any:
        return lease

    def enter(self, lease: Lease, holds: Any, again: bool = False) -> None:
        """Plans have no blocks."""

    def abandon(self, lease: Lease, holds: Any) -> None:
        """Plans have no blocks."""


class Client(SimSession):
    """A process that follows its plan, with a keeper beside it."""

    ordered = True

    def __init__(
        self,
        number: int,
        plan: Plan,
        ensemble: Ensemble,
        watch: Watch,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(clock)
        self.number, self.plan, self.watch = number, plan, watch
        self.identity, self._count = identity_of(number), 0
        self.dead = self.cancelled = False
        #: Its latest acquisition.
        self.owner = ""
        self.thaws_at = NEVER
        self.line = SimConnection(ensemble, number, clock, self._connection_changed)
        self.namespace = Namespace(LABEL, "", {}, self.line)
        self.store: LockStore = plan.want.store(self.namespace)
        self._wish = Wish(plan, self.store)
        if plan.was_busy and plan.wait > 0:
            self.busy_names.add(self._wish.key)
        self.main = Task(self.line, clock, self._program())
        keeping = keep(self.schedule, self.bell, clock, _no_introduction)
        self.keeping = Task(self.line, clock, keeping)
        self.tasks = (self.main, self.keeping)

    @property
    def frozen(self) -> bool:
        return self.thaws_at < NEVER

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, neither for it nor by it."""
        if self.dead:
            return self.line.session.gone
        busy = self.main.request is not None or self.schedule.holds() or self.schedule.pending()
        return not busy and self.line.idle and self.line.connected and not self.frozen

    def thaw(self) -> str:
        self.thaws_at = NEVER
        return "goes on"

    def _connection_changed(self, suspended: bool) -> None:
        if self.schedule.make_all_due(self.clock(), suspended):
            self.bell.wake()

    def next_owner(self, store: LockStore) -> str:
        self._count += 1
        self.owner = f"{self.identity}:{self._count}{store.kind_code}"
        return self.owner

    # --- the plan --------------------------------------------------------------------------

    def _program(self) -> Steps[None]:
        for _ in range(self.plan.times):
            yield from self._turn()

    def _turn(self) -> Steps[None]:
        try:
            lease = yield from holding.acquire(self, self._wish, self.plan.wait, try_once=True)
        except InterlockError as error:
            self.watch.failed(error)
            return
        yield from self._held(lease)

    def _held(self, lease: SimLease) -> Steps[None]:
        interruption = None
        try:
            yield from park(lease.wakes, self.clock() + self.plan.work)
            if self.plan.want.turns and self.plan.downgrades and lease.standing:
                yield from self._read_on(lease)
                yield from park(lease.wakes, self.clock() + self.plan.work)
        except Cancelled as error:
            interruption = error
        yield from self._give_back(lease)
        if interruption is not None:
            raise interruption

    def _read_on(self, lease: Any) -> Steps[None]:
        try:
            yield from downgrade(self, lease)
        except (OutcomeUnknown, StoreUnavailable):
            return
        except LockLost:
            self.watch.turned(lease, done=False)
        else:
            self.watch.turned(lease, done=True)

    def _give_back(self, lease: SimLease) -> Steps[None]:
        try:
            yield from holding.release(self, lease)
        except LockLost:
            self.watch.released(lease, released=False)
        except InterlockError:
            pass  # it is owed
        else:
            self.watch.released(lease, released=True)

    # --- what has to be watched --------------------------------------------------------------

    def granted(self, lease: SimLease) -> None:
        lease.wanted = self.plan.want.weight
        self.watch.granted(lease)

    def renewed(self, lease: SimLease) -> None:
        self.watch.renewed(lease)

    def lost(self, lease: SimLease, cause: str) -> None:
        self.watch.lost(lease, cause)

    def owed(self, owner: str) -> None:
        self.watch.seen.add("a withdrawal was owed")


def _no_introduction(until: float) -> Steps[float]:
    return NEVER
    yield
