"""A client on paper: it follows its plan, with a keeper beside it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, cast
from uuid import UUID

from interlock.backends.zookeeper.ground import Ground
from interlock.backends.zookeeper.nodes import Nodes
from interlock.errors import InterlockError, OutcomeUnknown, StoreUnavailable
from interlock.events import Event
from interlock.recipes.insist import insist
from interlock.recipes.keep import BY_ANSWER, NEVER, Owed, Rota, keep
from interlock.recipes.lock import WITHDRAWAL, Seeking, acquire, release
from interlock.steps import Steps, park
from interlock.stores import LockStore, RwStore
from interlock.testing.sim import SimHold
from interlock.testing.sim.clients import Cancelled
from interlock.testing.sim.holds import SimWakes

from .lines import LABEL, Line
from .scenario import NAME, Plan
from .tasks import Task

if TYPE_CHECKING:
    from .ensembles import Ensemble
    from .watch import Watch

#: Seconds for which a release may wait for its answer.
RELEASE = 5.0


def identity_of(client: int) -> str:
    """Who a client is: a UUID of version 8 that ends in zeros, as the product's."""
    return str(UUID(bytes=bytes([client + 1] * 6 + [0x80, 0, 0x80, 0]) + bytes(6)))


class Client:
    """A process that follows its plan, with a keeper beside it."""

    def __init__(
        self,
        number: int,
        plan: Plan,
        ensemble: Ensemble,
        watch: Watch,
        clock: Callable[[], float],
    ) -> None:
        self.number, self.plan, self.watch, self.clock = number, plan, watch, clock
        self.identity = identity_of(number)
        self.dead = self.cancelled = False
        #: Its latest acquisition.
        self.owner = ""
        self.thaws_at = NEVER
        self.rota, self.bell = Rota(nullcontext()), SimWakes()
        self.line = Line(ensemble, number, clock, self._way_changed)
        self.ground = Ground(LABEL, "", Nodes(), self.line)
        self.store: LockStore = plan.want.store(self.ground)
        self.main = Task(self.line, clock, self._program())
        self.keeper = Task(self.line, clock, keep(self.rota, self.bell, clock, _no_errand))
        self.tasks = (self.main, self.keeper)

    @property
    def frozen(self) -> bool:
        return self.thaws_at < NEVER

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, neither for it nor by it."""
        if self.dead:
            return self.line.session.gone
        busy = self.main.request is not None or self.rota.holds() or self.rota.debts()
        return not busy and self.line.idle and self.line.connected and not self.frozen

    def thaw(self) -> str:
        self.thaws_at = NEVER
        return "goes on"

    def _way_changed(self, doubtful: bool) -> None:
        if self.rota.hurry(self.clock(), doubtful):
            self.bell.wake()

    # --- the plan --------------------------------------------------------------------------

    def _program(self) -> Steps[None]:
        for number in range(self.plan.times):
            self.owner = f"{self.identity}:{number + 1}{self.store.mark}"
            yield from self._turn(self.owner)

    def _turn(self, owner: str) -> Steps[None]:
        began, plan = self.clock(), self.plan
        store = self.store.waiting(plan.wait)
        times = (plan.lease, began, began + plan.wait, self.clock)
        seeking = Seeking(store, NAME, owner, *times, trial=True, host=self)
        seeking.crowded = plan.crowded and plan.wait > 0
        try:
            grant = yield from acquire(seeking)
        except InterlockError as error:
            self.watch.failed(error)
            return
        hold = SimHold(store, grant, store.trusted(plan.lease), kept=True, weight=plan.want.weight)
        hold.witness = self
        self.watch.granted(hold)
        if self.rota.add(hold):
            self.bell.wake()
        yield from self._held(hold)

    def _held(self, hold: SimHold) -> Steps[None]:
        interruption = None
        try:
            yield from park(hold.wakes, self.clock() + self.plan.work)
            if self.plan.want.turns and self.plan.downgrades and hold.standing:
                yield from self._read_on(hold)
                yield from park(hold.wakes, self.clock() + self.plan.work)
        except Cancelled as error:
            interruption = error
        yield from self._give_back(hold)
        if interruption is not None:
            raise interruption

    def _read_on(self, hold: SimHold) -> Steps[None]:
        """Count as a reader from the question on, whatever becomes of the answer."""
        hold.weight, asked = 1, self.clock()
        store = cast("RwStore", hold.store)
        try:
            done = yield from insist(
                lambda until: store.downgrade(hold.name, hold.owner, hold.lease, until), self.clock
            )
        except (OutcomeUnknown, StoreUnavailable):
            return
        self.watch.turned(hold, done)
        if done:
            hold.renewed(asked)
            self.rota.settle(hold)
        elif self.rota.drop(hold):
            hold.lose(BY_ANSWER)

    def _give_back(self, hold: SimHold) -> Steps[None]:
        standing, hold.standing = hold.standing, False
        self.rota.drop(hold)
        if not standing:
            return  # whoever lost it sees to its withdrawal
        try:
            released = yield from release(hold.store, hold.grant, self.clock() + RELEASE)
        except InterlockError:
            self.owe(hold.store, hold.name, hold.owner, hold.lease)
        except Cancelled:
            self.owe(hold.store, hold.name, hold.owner, hold.lease)
            raise
        else:
            self.watch.released(hold, released)

    # --- whoever has to hear of it ------------------------------------------------------------

    def tell(self, event: Event) -> None:
        """Nobody watches events here."""

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        self.watch.seen.add("a withdrawal was owed")
        at = self.clock()
        self.rota.owe(Owed(store, name, owner, at + lease + WITHDRAWAL, at))
        self.bell.wake()

    def renewed(self, hold: SimHold) -> None:
        self.watch.renewed(hold)

    def lost(self, hold: SimHold, cause: str) -> None:
        self.watch.lost(hold, cause)
        self.owe(hold.store, hold.name, hold.owner, NEVER)


def _no_errand(until: float) -> Steps[float]:
    return NEVER
    yield
