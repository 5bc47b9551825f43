"""Clients of a quorum over simulated nodes, moved by one seed.

The clients run the real recipes (`acquire`, `release`) on the real store; the nodes are those of
`nodes`, and every message is late, lost or doubled as the seed says.  Nodes restart empty, and
clients stand still for a while.  What must never happen is checked whenever a client begins to
believe that it holds, or goes on to: that no other one does, and that its token is the newest.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from interlock.backends.redis.redlock.locks import Quorum, QuorumLocks
from interlock.backends.redis.redlock.proposal import Proposal
from interlock.errors import InterlockError, OutcomeUnknown
from interlock.model import Grant
from interlock.recipes.lock import Acquisition, acquire, release
from interlock.steps import Call, Listen, Park, Steps, Together, park
from tests.support.sim import Violation
from tests.support.sim.holds import SimWakes

from .nodes import Rules, SimNode

NAME, LEASE = "the lock", 4.0


@dataclass(frozen=True)
class Walk:
    """What may happen, and which rules are kept."""

    nodes: int = 5
    clients: int = 3
    times: int = 3
    restarts: int = 3
    #: How far the clocks of the nodes are apart, in seconds.
    skew: float = 1.5
    rules: Rules = field(default_factory=Rules)
    store: type[QuorumLocks] = QuorumLocks
    #: Whether a renewal counts only while the lease before it stands.
    renewals_end: bool = True
    #: Whether what is proposed is a guess, and often a bad one.
    wild: bool = True
    #: How often a client renews; one of these is drawn.
    renewals: tuple[int, ...] = (0, 1, 3)
    #: How many of the messages are late, lost or doubled, and how often a client stands still;
    #: one of each is drawn.
    late: tuple[float, ...] = (0.02, 0.1, 0.3)
    lost: tuple[float, ...] = (0, 0.05, 0.2)
    doubled: tuple[float, ...] = (0, 0.1)
    stands: tuple[float, ...] = (0, 0.02, 0.1)


class WildProposal(Proposal):
    """Proposes anything: it is only a hint."""

    def __init__(self, random: Random) -> None:
        super().__init__(0.0)
        self._random = random

    def at(self, now: float) -> int:
        ahead = self._random.choice((-now, 0.0, 0.5, 2.0, 50.0))
        return int((now + ahead) * 1_000_000)


class Ask:
    """Calls under way, and what has been answered so far."""

    def __init__(self, request: Together, until: float) -> None:
        self.request, self.until, self.over = request, until, False
        self.replies: list[Any] = [None] * len(request.calls)

    @property
    def enough(self) -> bool:
        enough = self.request.enough
        return None not in self.replies or (enough is not None and enough(self.replies))


class SimClient:
    """One client: it takes the lock, renews it, and gives it back, some times."""

    #: How it holds: alone, or beside others that read.
    mode = "write"

    def __init__(self, number: int, world: QuorumWorld) -> None:
        self.number, self.world = number, world
        self.steps = self._live()
        self.ask: Ask | None = None
        self.until, self.token, self.owner = 0.0, 0, ""

    @property
    def store(self) -> QuorumLocks:
        """The store by which it holds."""
        return self.world.store

    def believes(self, now: float) -> bool:
        return now < self.until

    def _live(self) -> Steps[None]:
        world, random = self.world, self.world.random
        for time in range(world.walk.times):
            yield from park(None, world.now + random.random() * 4)
            owner = f"{self.number}:{time}1"
            try:
                yield from self._hold_once(owner)
            except InterlockError as failure:
                world.seen[type(failure).__name__] += 1
            self.until = 0.0

    def _hold_once(self, owner: str) -> Steps[None]:
        world = self.world
        began = world.now
        acquisition = Acquisition(
            world.store, NAME, owner, LEASE, began, began + 6.0, world.clock, try_once=True
        )
        grant = yield from acquire(acquisition)
        self.owner, self.token, self.until = owner, grant.token, grant.until
        world.believed(self)
        yield from self._keep(grant)
        if world.random.random() < 0.3:  # it works for longer than it may
            yield from park(None, self.until)
        self.until = 0.0
        yield from release(world.store, grant, world.now + 1.0)

    def _keep(self, grant: Grant) -> Steps[None]:
        world = self.world
        for _ in range(world.random.choice(world.walk.renewals)):
            yield from park(None, world.now + LEASE / 3)
            asked, ends = world.now, self.until
            if world.walk.renewals_end and asked >= ends:
                return
            until = ends - 0.05 if world.walk.renewals_end else asked + 3 * LEASE
            (answer,) = yield from self.store.renew([(NAME, grant.owner)], LEASE, until)
            if answer is False:
                self.until = 0.0
                return
            if answer is True:
                self.until = max(self.until, self.store.valid_until(asked, LEASE))
                world.believed(self, renewed=True)


class QuorumWorld:
    """Everything that one seed moves."""

    node_class: type[SimNode] = SimNode
    client_class: type[SimClient] = SimClient

    def __init__(self, walk: Walk, seed: int) -> None:
        self.walk, self.random, self.now = walk, Random(seed), 100.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order, self.seen, self._newest = count(), Counter[str](), 0
        self._late, self._lost = (
            self.random.choice(walk.late),
            self.random.choice(walk.lost),
        )
        self._doubled, self._stands = (
            self.random.choice(walk.doubled),
            self.random.choice(walk.stands),
        )
        self.nodes = [
            self.node_class(
                each, self.clock, self.random.choice((1.0, 1.009)), self._skew(), walk.rules
            )
            for each in range(walk.nodes)
        ]
        labels = tuple(f"node{each}" for each in range(walk.nodes))
        proposal = WildProposal(self.random) if walk.wild else Proposal(0.0)
        quorum = Quorum(
            labels, "quorum", LEASE, walk.rules.guard, self.clock, self.random.random, proposal
        )
        self._open(quorum)
        self.clients = [self.client_class(each, self) for each in range(walk.clients)]

    def _open(self, quorum: Quorum) -> None:
        self.store = self.walk.store("lock", quorum)

    def _skew(self) -> float:
        return self.random.random() * self.walk.skew

    def clock(self) -> float:
        return self.now

    def run(self) -> Counter[str]:
        for client in self.clients:
            self._resume(client, None)
        for _ in range(self.walk.restarts):
            self._at(self.now + self.random.random() * 25, self._restart)
        while self._events:
            at, _, action = heapq.heappop(self._events)
            self.now = max(self.now, at)
            action()
        return self.seen

    def _restart(self) -> None:
        self.seen["restarts"] += 1
        self.random.choice(self.nodes).restart(LEASE)

    def _at(self, at: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at, next(self._order), action))

    # --- messages ------------------------------------------------------------------------------

    def _delay(self) -> float:
        if self.random.random() < self._late:
            return self.random.random() * self.random.choice((0.5, 3.0, 9.0))
        return 0.001 + self.random.random() * 0.01

    def _carry(self, deliver: Callable[[], None]) -> None:
        """Deliver a message: once, late, not at all, or twice."""
        if self.random.random() < self._lost:
            return
        self._at(self.now + self._delay(), deliver)
        if self.random.random() < self._doubled:
            self._at(self.now + self._delay(), deliver)

    def _send(self, client: SimClient, ask: Ask, place: int, call: Call) -> None:
        def arrives() -> None:
            reply = self.nodes[call.node or 0].execute(call)
            self._carry(lambda: self._heard(client, ask, place, reply))

        self._carry(arrives)

    def _heard(self, client: SimClient, ask: Ask, place: int, reply: Any) -> None:
        if not ask.over and ask.replies[place] is None and self.now < ask.until:
            ask.replies[place] = reply
            if ask.enough:
                self._answer(client, ask)

    def _answer(self, client: SimClient, ask: Ask) -> None:
        if not ask.over:
            ask.over = True
            silent = OutcomeUnknown("no answer")
            replies = [silent if reply is None else reply for reply in ask.replies]
            # A client that stands still reads later what has come in time.
            pause = self.random.random() * 6 if self.random.random() < self._stands else 0.0
            self._at(self.now + pause, lambda: self._resume(client, replies))

    # --- clients -------------------------------------------------------------------------------

    def _resume(self, client: SimClient, reply: Any) -> None:
        try:
            request = client.steps.send(reply)
        except StopIteration:
            return
        if isinstance(request, Together):
            self._ask(client, request)
        elif isinstance(request, Park):
            self._at(max(request.until, self.now), lambda: self._resume(client, False))
        else:
            assert isinstance(request, Listen)
            self._at(self.now, lambda: self._resume(client, SimWakes()))

    def _ask(self, client: SimClient, request: Together) -> None:
        ask = Ask(request, min(call.until for call in request.calls))
        for place, call in enumerate(request.calls):
            self._send(client, ask, place, call)
        if ask.enough:
            self._answer(client, ask)
        else:
            self._at(max(ask.until, self.now), lambda: self._answer(client, ask))

    def believed(self, client: SimClient, renewed: bool = False) -> None:
        """A client has been granted the lock, or goes on to hold it."""
        if not client.believes(self.now):
            return
        self.seen["renewed" if renewed else "granted"] += 1
        for other in self.clients:
            if other is not client and other.believes(self.now):
                raise Violation(f"{client.owner} and {other.owner} both believe that they hold")
        if client.token < self._newest or (client.token == self._newest and not renewed):
            raise Violation(f"token {client.token} is believed after {self._newest}")
        self._newest = client.token


def walk(
    settings: Walk, seed: int, world: Callable[[Any, int], QuorumWorld] = QuorumWorld
) -> Counter[str]:
    """Walk where a seed leads; answers what was seen."""
    try:
        return world(settings, seed).run()
    except Violation as violation:
        violation.add_note(f"seed {seed} of {settings}")
        raise
