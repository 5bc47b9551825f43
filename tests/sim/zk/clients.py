"""A client on paper: its plan, its keeper, and what each of the two has asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from interlock.backends.zookeeper.ground import Ground
from interlock.backends.zookeeper.nodes import Nodes
from interlock.errors import InterlockError, OutcomeUnknown, StoreUnavailable
from interlock.events import Event
from interlock.recipes.insist import insist
from interlock.recipes.keep import BY_ANSWER, NEVER, Owed, Rota, keep
from interlock.recipes.lock import WITHDRAWAL, Seeking, acquire, release
from interlock.steps import Listen, Park, Request, Steps, Together, park
from interlock.stores import LockStore, RwStore
from interlock.testing.sim import SimHold
from interlock.testing.sim.clients import Cancelled
from interlock.testing.sim.holds import SimWakes

from .lines import LABEL, Batch, Line
from .scenario import NAME, Plan

if TYPE_CHECKING:
    from .ensembles import Ensemble
    from .watch import Watch

#: Seconds that a question waits for a connection, and a release for its answer.
CONNECT, RELEASE = 5.0, 5.0


def identity_of(client: int) -> str:
    """Who a client is: a UUID of version 8 that ends in zeros, as the product's."""
    return str(UUID(bytes=bytes([client + 1] * 6 + [0x80, 0, 0x80, 0]) + bytes(6)))


class Task:
    """One algorithm under way: what it has asked for, and until when it waits."""

    def __init__(self, client: Client, steps: Steps[None]) -> None:
        self._client, self.steps = client, steps
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
            return self._client.line.connected or self.due <= now
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
        elif self._client.line.connected:
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
        request, line = self.request, self._client.line
        if type(request) is Park:
            self.due = request.until
        elif type(request) is Listen:
            self.resume(line.listen(request.topics))
        elif type(request) is Together:
            if line.connected or not any(_awaited(call.operation) for call in request.calls):
                self._send(request)
            else:
                until = max(call.until for call in request.calls)
                self.due = min(until, self._client.clock() + CONNECT)

    def _send(self, request: Together) -> None:
        until = max(call.until for call in request.calls)
        self.batch, self.due = Batch([each.operation for each in request.calls], until), until
        self._client.line.ask(self.batch)

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


def _awaited(ask: Any) -> bool:
    return getattr(ask, "awaited", True)


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
        self.main = Task(self, self._program())
        self.keeper = Task(self, keep(self.rota, self.bell, clock, _no_errand))
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
            if self.plan.downgrades and hold.standing:
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
