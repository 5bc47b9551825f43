"""Processes that want a majority of several stores, moved by one seed.

The recipes are the real ones (`take_majority`, `give_all`, `holding`, a keeper for each client),
the stores those of the ledger.  Every message is late, lost or doubled as the seed says, a store
hangs for a while, and a process is interrupted anywhere.  What must never happen is checked
whenever a process begins to believe: that no other one does; and at the end, that nothing is left.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from interlock.errors import InterlockError, OutcomeUnknown
from interlock.recipes import holding
from interlock.recipes.agreement import majority
from interlock.recipes.keeper_round import keep
from interlock.recipes.majority import take_majority
from interlock.recipes.multilock import Member, give_all, standing
from interlock.steps import (
    Arrival,
    Begin,
    Call,
    Elsewhere,
    Listen,
    Park,
    Settle,
    Steps,
    Together,
    Via,
    park,
)
from tests.support.sim import Violation
from tests.support.sim.clients import Cancelled, Wish
from tests.support.sim.holds import SimWakes
from tests.support.sim.leases import SimLease
from tests.support.sim.scenario import NAME, Plan, Scenario, SimRecords
from tests.support.sim.sessions import SimSession

LEASE = 4.0


@dataclass(frozen=True)
class Walk:
    """What may happen."""

    stores: int = 3
    processes: int = 3
    times: int = 3
    #: How often a store hangs, and a process is interrupted.
    hangs: int = 2
    strikes: int = 2


class SimStore:
    """One store: its records, and whether it hangs."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.records = SimRecords(clock)
        self.records.carry = self.records.find = _deliver
        self.hangs_until = 0.0

    def execute(self, request: Call) -> Any:
        return request.operation(self.records, *request.keys, *request.args)


def _deliver(owner: str, wake: Callable[[], None] | None) -> bool:
    if wake is not None:
        wake()
    return wake is not None


class StoreClient(SimSession):
    """The client of one process towards one store; it is its own link."""

    def __init__(self, process: int, store: SimStore, world: MajorityWorld) -> None:
        super().__init__(world.clock)
        self.store = store
        self.link: Any = self
        self._owners: Iterator[str] = (f"{process}:{each}" for each in count(1))

    def next_owner(self, store: Any) -> str:
        return next(self._owners)

    def granted(self, lease: SimLease) -> None:
        """What counts is the majority."""

    renewed = granted

    def lost(self, lease: SimLease, cause: str) -> None:
        """What counts is the majority."""

    def owed(self, owner: str) -> None:
        """It is seen at the end."""


class SimMember:
    """One lock of a majority: see `recipes.multilock.Member`."""

    def __init__(self, client: StoreClient, home: StoreClient) -> None:
        self.client, self.name = client, NAME
        self.abroad: Any = None if client is home else client
        self._wish = Wish(Plan(lease=LEASE, kept=True), Scenario())

    def take(self, timeout: float, limit: float, persists: bool = True) -> Steps[Any]:
        wish = self.client, self._wish, timeout
        return holding.acquire(*wish, try_once=True, limit=limit, persists=persists)

    def check_itself(self) -> Steps[None]:
        yield from ()

    def give(self, hold: Any, until: float) -> Steps[None]:
        return holding.release(self.client, hold, self._wish.store, until)

    def standing(self) -> tuple[Any, int] | None:
        lease = self.client.holds.current.get(self._wish.key)
        return None if lease is None else (lease, lease.depth)


class SimFlight:
    """Calls under way: see `steps.Flight`."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.replies: list[Any] | Exception | None = None
        self.on_arrival: Callable[[], None] = _nothing

    def land(self, replies: list[Any]) -> None:
        if self.replies is None:
            self.replies = replies
            self.on_arrival()

    def leave(self) -> Exception:
        return OutcomeUnknown("it was not awaited")


def _nothing() -> None:
    pass


class Driven:
    """An algorithm under way, with those that other clients run for it; the last one is driven."""

    def __init__(self, steps: Steps[Any], client: StoreClient) -> None:
        self.stack: list[tuple[Steps[Any], StoreClient]] = [(steps, client)]
        self.turn = 0
        self.struck: BaseException | None = None


class Process:
    """Takes a majority, works, and gives it back, some times."""

    def __init__(self, number: int, world: MajorityWorld) -> None:
        self.number, self.world = number, world
        self.clients = [StoreClient(number, store, world) for store in world.stores]
        home = self.clients[0]
        self.members: list[Member] = [SimMember(client, home) for client in self.clients]
        self.held: list[Any] = []
        self.main = Driven(self._live(), home)

    def believes(self) -> bool:
        now = self.world.now
        believed = [each for each in self.held if each is not None and each.believed(now)]
        return len(believed) >= majority(len(self.clients))

    def _live(self) -> Steps[None]:
        world = self.world
        for _ in range(world.walk.times):
            yield from park(None, world.now + world.random.random() * 2)
            try:
                yield from self._hold_once()
            except InterlockError as failure:
                world.seen[type(failure).__name__] += 1
            except Cancelled:
                world.seen["interrupted"] += 1
            self.held = []

    def _hold_once(self) -> Steps[None]:
        world = self.world
        deadline, jitter = world.now + world.random.choice((0.0, 3.0)), world.random.random()
        held = yield from take_majority(
            self.members, deadline, world.clock, jitter, lambda event: None
        )
        self.held = held
        world.believed(self)
        interruption = None
        try:
            yield from park(None, world.now + world.random.choice((0.1, 1.0, 6.0)))
        except Cancelled as struck:
            interruption = struck
        world.seen["kept"] += len(standing(held)) == len(self.members)
        self.held = []
        yield from give_all(self.members, held, world.now + 5.0, world.clock, len(self.members))
        if interruption is not None:
            raise interruption


class MajorityWorld:
    """Everything that one seed moves."""

    def __init__(self, walk: Walk, seed: int) -> None:
        self.walk, self.random, self.now = walk, Random(seed), 100.0
        self.seen: Counter[str] = Counter()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._late = self.random.choice((0.0, 0.1))
        self._lost: float = self.random.choice((0.0, 0.05, 0.1))
        self._doubled: float = self.random.choice((0.0, 0.1))
        self.stores = [SimStore(self.clock) for _ in range(walk.stores)]
        self.processes = [Process(each, self) for each in range(walk.processes)]

    def clock(self) -> float:
        return self.now

    def run(self) -> Counter[str]:
        for process in self.processes:
            self._go(process.main, None)
            for client in process.clients:
                keeping = keep(client.schedule, client.bell, self.clock, _no_introduction)
                self._go(Driven(keeping, client), None)
        for _ in range(self.walk.hangs):
            self._at(self.now + self.random.random() * 12, self._hang)
        for _ in range(self.walk.strikes):
            self._at(self.now + self.random.random() * 12, self._strike)
        end = self.now + 60.0
        while self._events and self.now < end:
            at, _, action = heapq.heappop(self._events)
            self.now = max(self.now, at)
            action()
        self._check_nothing_left()
        return self.seen

    def _at(self, at: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at, next(self._order), action))

    def _hang(self) -> None:
        self.seen["hung"] += 1
        self.random.choice(self.stores).hangs_until = self.now + self.random.choice((0.5, 3.0))

    def _strike(self) -> None:
        driven = self.random.choice(self.processes).main
        driven.struck = Cancelled()

    # --- messages ------------------------------------------------------------------------------

    def _delay(self) -> float:
        if self.random.random() < self._late:
            return self.random.random() * self.random.choice((0.3, 2.0, 6.0))
        return 0.001 + self.random.random() * 0.01

    def _carry(self, deliver: Callable[[], None]) -> None:
        if self.random.random() < self._lost:
            return
        self._at(self.now + self._delay(), deliver)
        if self.random.random() < self._doubled:
            self._at(self.now + self._delay(), deliver)

    def _send(self, client: StoreClient, calls: tuple[Call, ...]) -> SimFlight:
        """Send calls together; no answer until their time is up means that there is none."""
        flight = SimFlight(max(self.now, min(call.until for call in calls)))
        store = client.store

        def arrives() -> None:
            if self.now < store.hangs_until:
                self._at(store.hangs_until, arrives)
                return
            replies = [store.execute(call) for call in calls]
            self._carry(lambda: flight.land(replies) if self.now < flight.until else None)

        self._carry(arrives)
        silence = [OutcomeUnknown("no answer") for _ in calls]
        self._at(flight.until, lambda: flight.land(silence))
        return flight

    # --- processes and keepers -----------------------------------------------------------------

    def _go(self, driven: Driven, reply: Any, error: BaseException | None = None) -> None:
        """Let an algorithm go on to its next request."""
        driven.turn += 1
        if driven.struck is not None:
            error, driven.struck = driven.struck, None
        steps, client = driven.stack[-1]
        try:
            request: Any = steps.send(reply) if error is None else steps.throw(error)
        except BaseException as end:
            if not isinstance(end, StopIteration | InterlockError | Cancelled):
                raise
            driven.stack.pop()
            if driven.stack and isinstance(end, StopIteration):
                self._go(driven, end.value)
            elif driven.stack:
                self._go(driven, None, end)
            return
        if isinstance(request, Elsewhere):
            driven.stack.append((request.steps, request.run))  # type: ignore[arg-type]
            self._go(driven, None)
        else:
            self._perform(driven, client, request)

    def _perform(self, driven: Driven, client: StoreClient, request: Any) -> None:
        if isinstance(request, Via):
            client, request = request.client, request.request  # type: ignore[assignment]
        if isinstance(request, Begin):
            owner: Any = request.client
            self._later(driven, self._send(owner, request.calls))
        elif isinstance(request, Arrival | Settle):
            self._wait(driven, request)
        elif isinstance(request, Park):
            self._park(driven, request)
        elif isinstance(request, Listen):
            self._later(driven, self._listen(client, request))
        else:
            self._ask(driven, client, request)

    def _later(self, driven: Driven, reply: Any) -> None:
        turn = driven.turn
        self._at(self.now, lambda: self._go(driven, reply) if driven.turn == turn else None)

    def _ask(self, driven: Driven, client: StoreClient, request: Call | Together) -> None:
        alone = isinstance(request, Call)
        flight = self._send(client, (request,) if isinstance(request, Call) else request.calls)

        def landed() -> None:
            assert isinstance(flight.replies, list)
            reply = flight.replies[0] if alone else flight.replies
            if isinstance(reply, BaseException):
                self._go(driven, None, reply)
            else:
                self._go(driven, reply)

        flight.on_arrival = landed

    def _wait(self, driven: Driven, request: Arrival | Settle) -> None:
        """Tasks settle what was interrupted, threads leave it: the seed says which."""
        turn, settles = driven.turn, isinstance(request, Settle)
        leaves = settles and self.random.random() < 0.5

        def look() -> None:
            done = [flight.replies is not None for flight in request.flights]
            enough = all(done) if settles else any(done)
            if driven.turn == turn and (enough or leaves):
                self._go(driven, None)

        for flight in request.flights:
            assert isinstance(flight, SimFlight)
            flight.on_arrival = look
        if isinstance(request, Arrival) and request.until < float("inf"):
            self._at(
                request.until, lambda: self._go(driven, None) if driven.turn == turn else None
            )
        self._at(self.now, look)

    def _park(self, driven: Driven, request: Park) -> None:
        turn, wakes = driven.turn, request.wakes

        def look() -> None:
            if driven.turn != turn:
                return
            woken = isinstance(wakes, SimWakes) and wakes.woken
            if woken or driven.struck or self.now >= request.until:
                if isinstance(wakes, SimWakes):
                    wakes.woken = False
                self._go(driven, woken)
            else:
                self._at(min(request.until, self.now + 0.05), look)

        self._at(self.now, look)

    def _listen(self, client: StoreClient, request: Listen) -> SimWakes:
        (topic,) = request.topics
        records = client.store.records
        wakes = SimWakes(lambda: records.listeners.pop(topic, None))
        records.listeners[topic] = wakes.wake
        return wakes

    # --- what must never happen ----------------------------------------------------------------

    def believed(self, process: Process) -> None:
        """A process has taken a majority."""
        if not process.believes():
            return
        self.seen["granted"] += 1
        for other in self.processes:
            if other is not process and other.believes():
                raise Violation(f"{process.number} and {other.number} both believe that they hold")

    def _check_nothing_left(self) -> None:
        for process in self.processes:
            if process.main.stack:
                raise Violation(f"process {process.number} never comes to its end")
            for client in process.clients:
                if client.schedule.pending() or client.schedule.holds():
                    raise Violation(f"process {process.number} keeps something")
                if client.holds.current.doing or client.queue.busy():
                    raise Violation(f"process {process.number} is still busy with something")
        for store in self.stores:
            if store.records.held(NAME):
                raise Violation("a store keeps a ghost")


def _no_introduction(until: float) -> Steps[float]:
    yield from ()
    return 1000.0


def walk(settings: Walk, seed: int) -> Counter[str]:
    """Walk where a seed leads; answers what was seen."""
    try:
        return MajorityWorld(settings, seed).run()
    except Violation as violation:
        violation.add_note(f"seed {seed} of {settings}")
        raise
