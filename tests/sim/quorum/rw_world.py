"""Readers and writers over simulated nodes, moved by one seed: see `world`.

Checked whenever a client begins to believe that it reads or writes, or goes on to: that none
writes beside it, that none reads beside a writer, and that its token is greater than those before
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from interlock.backends.redis.redlock.locks import Quorum
from interlock.backends.redis.redlock.rwlocks import QuorumRwLocks
from interlock.errors import AcquireTimeout, InterlockError
from interlock.model import Grant
from interlock.recipes.lock import Acquisition, acquire, release
from interlock.steps import Steps, park
from tests.support.sim import Violation

from .nodes import SimNode
from .rw_nodes import SimRwNode
from .world import LEASE, NAME, QuorumWorld, SimClient, Walk

CODES = {"read": "5", "write": "6"}


@dataclass(frozen=True)
class RwWalk(Walk):
    """What may happen to readers and writers."""

    clients: int = 4
    rw_store: Callable[[str, Quorum], QuorumRwLocks] = QuorumRwLocks
    #: Whether a writer that reads on counts as a reader from its question on.
    reads_on: bool = True
    #: As what clients take the lock again and again, in a `StreamWorld`.
    stream: str = "read"


class RwClient(SimClient):
    """One client: some times it reads, or writes and perhaps reads on."""

    world: RwWorld
    mode = "read"

    def _live(self) -> Steps[None]:
        for time in range(self.world.walk.times):
            yield from park(None, self.world.now + self.world.random.random() * 4)
            mode = self.world.random.choice(("read", "read", "write"))
            try:
                yield from self._hold_as(mode, time, 6.0)
            except InterlockError as failure:
                self.world.seen[type(failure).__name__] += 1
            self.until = 0.0

    def _hold_as(self, mode: str, time: int, patience: float) -> Steps[None]:
        world, owner = self.world, f"{self.number}:{time + 1}{CODES[mode]}"
        self.mode, store = mode, world.stores[mode]
        grant = yield from self._taken(store, owner, patience)
        self.owner, self.token, self.until = owner, grant.token, grant.until
        world.begins(self, grant.asked)
        yield from self._work(store, grant)
        self.until = 0.0
        yield from release(store, grant, world.now + 1.0)

    def _taken(self, store: QuorumRwLocks, owner: str, patience: float) -> Steps[Grant]:
        world, began = self.world, self.world.now
        wanted = Acquisition(store, NAME, owner, LEASE, began, began + patience, world.clock)
        wanted.jitter, wanted.try_once = world.random.random(), True
        return acquire(wanted)

    def _work(self, store: QuorumRwLocks, grant: Grant) -> Steps[None]:
        yield from self._keep(grant)
        if self.mode == "write" and self.world.random.random() < 0.5:
            yield from self._read_on(store, grant)
            yield from self._keep(grant)
        if self.world.random.random() < 0.3:  # it works for longer than it may
            yield from park(None, self.until)

    @property
    def store(self) -> QuorumRwLocks:
        return self.world.stores["write" if self.owner.endswith("6") else "read"]

    def _read_on(self, store: QuorumRwLocks, grant: Grant) -> Steps[None]:
        world, ends = self.world, self.until
        if world.now >= ends:
            return
        if world.walk.reads_on:
            self.mode = "read"
        asked = world.now
        read = yield from store.downgrade(NAME, grant.owner, LEASE, asked + 1.0)
        if not read:
            self.until = 0.0
        elif world.now < ends:  # what has ended stays so
            self.until = max(ends, store.valid_until(asked, LEASE))
            world.seen["downgraded"] += 1
            world.believed(self, renewed=True)
        self.mode = "read"


class RwWorld(QuorumWorld):
    """Readers and writers."""

    node_class: type[SimNode] = SimRwNode
    client_class: type[SimClient] = RwClient
    walk: RwWalk
    #: Whether no client has to come again.
    over = False

    def _open(self, quorum: Quorum) -> None:
        self.stores = {mode: self.walk.rw_store(mode, quorum) for mode in ("read", "write")}
        #: What was believed, as what, and when.
        self._believed: list[tuple[float, int, str]] = []

    def begins(self, client: RwClient, asked: float) -> None:
        """A client has been granted the lock, in answer to a question of `asked`."""
        if not client.believes(self.now):
            return
        for at, token, mode in self._believed:
            # Readers whose questions cross each other come in any order.
            before = at <= asked or "write" in (mode, client.mode)
            if before and token >= client.token:
                raise Violation(f"token {client.token} is believed after {token}")
        self._believed.append((self.now, client.token, client.mode))
        self.seen[f"granted to {client.mode}"] += 1
        self.believed(client)

    def believed(self, client: SimClient, renewed: bool = False) -> None:
        if not client.believes(self.now):
            return
        self.seen["renewed" if renewed else "granted"] += 1
        for other in self.clients:
            if other is client or not other.believes(self.now):
                continue
            self.seen["beside"] += 1
            if "write" in (client.mode, other.mode):
                raise Violation(f"{client.owner} and {other.owner} both believe that they hold")


# --- progress ------------------------------------------------------------------------------------

#: Seconds within which a client gets in among others that come again and again.
PROMPT = 8.0

#: No message is lost, late or doubled, and no node restarts.
QUIET: dict[str, Any] = {
    **dict.fromkeys(("late", "lost", "doubled", "stands"), (0,)),
    "restarts": 0,
}


class StreamClient(RwClient):
    """Takes the lock again and again, one over another; the last client wants it once, in the
    other mode."""

    def _live(self) -> Steps[None]:
        world = self.world
        other = "write" if world.walk.stream == "read" else "read"
        if self.number < world.walk.clients - 1:
            yield from self._come_again()
            return
        yield from park(None, world.now + 2.0)
        try:
            yield from self._hold_as(other, 0, PROMPT)
        except AcquireTimeout:
            raise Violation(f"no {other} has got in for {PROMPT} s") from None
        world.over = True

    def _come_again(self) -> Steps[None]:
        world = self.world
        for time in count():
            if world.over:
                return
            yield from self._hold_as(world.walk.stream, time, 2 * PROMPT)
            if world.walk.stream == "write":  # or it would come before all that wait, each time
                yield from park(None, world.now + world.random.random() / 2)

    def _work(self, store: QuorumRwLocks, grant: Grant) -> Steps[None]:
        yield from park(None, self.world.now + 0.3 + self.world.random.random() / 2)


class StreamWorld(RwWorld):
    """Readers, or writers, among whom one client of the other mode wants to get in."""

    client_class = StreamClient
