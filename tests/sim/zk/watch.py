"""What must never happen with clients of ZooKeeper, checked after every step.

A client believes from the return of its grant until the instant `until` of its hold, the moment
at which it sends its release, or the moment at which it is told of a loss.  Whoever was robbed of
its nodes by an operator cannot know it at once, and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.backends.zookeeper import layout
from interlock.recipes.lock import POLL_CAP
from tests.support.sim import SimLease, Violation

from .trees import Tree

if TYPE_CHECKING:
    from .clients import Client
    from .world import World

#: Of which nobody has any beside another.
ALONE = ("lock", "mutex", "write")


class Watch:
    """The invariants of one run, and the noteworthy things seen in it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._room = world.scenario.plans[0].want.room
        self._holds: list[SimLease] = []
        #: Owners that were robbed: when, and after which transaction.
        self.robbed: dict[str, tuple[float, int]] = {}
        self._token = self._token_alone = 0
        self.seen: set[str] = set()

    # --- what clients say ------------------------------------------------------------------

    def granted(self, hold: SimLease) -> None:
        self._holds.append(hold)
        self.seen.add("a lock was granted")
        self._world.tell_of(hold.owner, f"is granted, token {hold.grant.token}")
        if hold.grant.unanswered:
            self.seen.add("a lock was granted after a doubt")
        if hold.grant.token > self.robbed.get(hold.owner, (0.0, 0))[1]:
            self.robbed.pop(hold.owner, None)
            self._check_token(hold)

    def _check_token(self, hold: SimLease) -> None:
        """Whoever is alone comes after everybody; the others come after whoever was alone."""
        token, alone = hold.grant.token, hold.weight == self._room
        if token <= (self._token if alone else self._token_alone):
            raise Violation(f"token {token} of {hold.owner} is not newer than one before it")
        self._token = max(self._token, token)
        if alone:
            self._token_alone = self._token

    def renewed(self, hold: SimLease) -> None:
        self.seen.add("a lease was renewed")
        if hold.asked > self.robbed.get(hold.owner, (hold.asked, 0))[0]:
            raise Violation(f"{hold.owner} was told that it holds what it was robbed of")

    def lost(self, hold: SimLease, cause: str) -> None:
        self.seen.add("a lock was lost")
        self._world.tell_of(hold.owner, f"has lost it: {cause}")

    def died(self, client: Client) -> None:
        for hold in self._holds:
            if hold.owner.startswith(client.identity):
                hold.depth = 0  # nothing of it runs any more

    def turned(self, hold: SimLease, done: bool) -> None:
        self.seen.add("a writer read on" if done else "a writer could not read on")

    def released(self, hold: SimLease, released: bool) -> None:
        self.seen.add("a lock was released" if released else "a release came too late")

    def failed(self, error: Exception) -> None:
        self.seen.add(f"an acquisition failed: {type(error).__name__}")

    # --- after every step ------------------------------------------------------------------

    def check(self) -> None:
        now = self._world.now
        self._holds = [hold for hold in self._holds if hold.standing]
        believed = [
            hold for hold in self._holds if hold.believed(now) and hold.owner not in self.robbed
        ]
        if sum(hold.weight for hold in believed) > self._room:
            owners = " and ".join(hold.owner for hold in believed)
            raise Violation(f"{owners} believe that they hold what only one of them can")
        if len(believed) > 1:
            self.seen.add("several held at the same time")

    # --- when time passes, because nobody has anything to do ---------------------------------

    def rests(self, clients: Sequence[Client]) -> None:
        """Whoever waits has somebody to wait for."""
        waiters = [each for each in clients if _waits(each)]
        for client in waiters:
            if client.main.due > self._world.now + POLL_CAP + 0.001:
                raise Violation(f"client {client.number} sleeps longer than the poll cap")
        if waiters and self._vacant(clients):
            raise Violation(f"client {waiters[0].number} waits for what nobody has")
        for client in waiters:
            if _attentive(client) and its_turn(client, self._world.ensemble.tree):
                raise Violation(f"client {client.number} waits though it is its turn")

    def _vacant(self, clients: Sequence[Client]) -> bool:
        """Whether nobody has anything, nobody owes anything, and everybody is well."""
        well = all(
            _attentive(each) and not each.schedule.pending() for each in clients if not each.dead
        )
        gone = all(each.line.session.gone for each in clients if each.dead)
        lingers = self._world.ensemble.lingering()
        busy = any(hold.standing for hold in self._holds)
        return well and gone and not lingers and not busy

    # --- in the end --------------------------------------------------------------------------

    def finished(self, clients: Sequence[Client]) -> None:
        """Nothing is left behind, neither on the servers nor in anybody's memory."""
        left = [path for path, node in self._world.ensemble.tree.nodes.items() if node.owner]
        if left:
            raise Violation(f"{left[0]} is left behind")
        for client in clients:
            if not client.dead and (kept := list(client.namespace.nodes)):
                raise Violation(f"client {client.number} remembers {kept[0]} for ever")


def _waits(client: Client) -> bool:
    """Whether a client is parked, and hears when it is worth asking again."""
    waits = client.main.wakes is not None and not client.main.wakes.woken
    return waits and not client.dead and not any(client.schedule.holds())


def _attentive(client: Client) -> bool:
    """Whether it hears at once what becomes of its nodes."""
    return client.line.connected and not client.frozen and not client.line.server.lags


def its_turn(client: Client, tree: Tree) -> bool:
    """Whether nobody is before a waiter any more, by the numbers of the nodes alone."""
    want, path = client.plan.want, "/orders/42"
    if want.kind in ("lock", "read", "write"):
        return _first(client, tree.children(path), want.kind == "read")
    leases = [each for each in tree.children(f"{path}/leases") if not _waiting(client, each)]
    first = _first(client, tree.children(f"{path}/locks"), False)
    return first and len(leases) + want.weight <= want.room


def _first(client: Client, children: set[str], reads: bool) -> bool:
    mine = [each[-10:] for each in children if _waiting(client, each)]
    others = [each for each in children if not _waiting(client, each)]
    before = [each[-10:] for each in others if not reads or "__WRIT__" in each]
    return bool(mine) and min(mine) < min(before, default="a")


def owned(client: Client, node: str) -> bool:
    """Whether a node is of any acquisition of a client."""
    return node.startswith(f"_c_{client.identity[:23]}")


def _waiting(client: Client, node: str) -> bool:
    """Whether a node is of the latest acquisition of a client."""
    return layout.belongs_to(node, client.owner)
