"""What can go wrong, and what each of it does to a client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from interlock.backends.zookeeper import layout
from interlock.recipes.renewal import NEVER
from tests.support.sim.clients import Cancelled

from .clients import Client
from .scenario import Fault
from .trees import Gone, name_of
from .watch import owned
from .world import AWAY, BEHIND, World


class Strike(NamedTuple):
    """A fault that can strike now, whom, and where."""

    fault: Fault
    number: int = -1
    path: str = ""

    def act(self, world: World) -> str:
        world.watch.seen.add(f"fault: {self.fault.value}")
        if self.fault is Fault.SLOW:
            world.advance()
        elif self.fault is Fault.REAPED:
            world.ensemble.commit(Gone((self.path,)))
        else:
            _STRIKES[self.fault](world, world.clients[self.number])
        return f"{self.fault.value} {self.path}".rstrip()


def strikes(world: World) -> list[Strike]:
    """Everything that can go wrong at this moment."""
    kinds = world.scenario.kinds
    found = [
        Strike(fault, client.number)
        for client in world.living
        for fault in _of(client)
        if fault in kinds
    ]
    if Fault.REVOKED in kinds:
        found += [
            Strike(Fault.REVOKED, each.number) for each in world.living if _nodes(world, each)
        ]
    if Fault.REAPED in kinds:
        found += [Strike(Fault.REAPED, path=path) for path in world.ensemble.tree.forsaken()]
    if Fault.SLOW in kinds and world.next_instant() < NEVER:
        found.append(Strike(Fault.SLOW))
    return found


World.strikes = strikes


def _of(client: Client) -> Iterator[Fault]:
    line, busy = client.line, client.main.request is not None
    if not client.frozen:
        yield Fault.FROZEN
        if line.connected:
            yield Fault.CUT
        if busy and not client.cancelled:
            yield Fault.CANCELLED
    if line.open and not line.server.lags:
        yield Fault.LAGGED
    if busy:
        yield Fault.KILLED


def _execute_some(world: World, client: Client) -> None:
    """Of what was sent, some is executed before the connection breaks."""
    waiting = len(client.line.outbox) if client.line.open else 0
    for _ in range(world.chooser.pick(waiting + 1, waiting + 1, None) if waiting else 0):
        world.tell(client.number, client.line.execute())


def _cut(world: World, client: Client) -> None:
    _execute_some(world, client)
    client.line.cut()
    client.line.back_at = world.some(AWAY)


def _kill(world: World, client: Client) -> None:
    _execute_some(world, client)
    client.dead, client.thaws_at = True, NEVER
    client.line.leave_server()
    for task in client.tasks:
        task.close()
    world.watch.died(client)


def _freeze(world: World, client: Client) -> None:
    client.thaws_at = world.some(AWAY)


def _cancel(world: World, client: Client) -> None:
    client.cancelled = True
    client.main.resume(None, Cancelled())


def _lag(world: World, client: Client) -> None:
    server = client.line.server
    server.lags, server.lags_until = True, world.some(BEHIND)


def _nodes(world: World, client: Client) -> list[str]:
    nodes = world.ensemble.tree.nodes.items()
    return [path for path, node in nodes if node.owner and owned(client, name_of(path))]


def _rob(world: World, client: Client) -> None:
    """An operator takes the nodes of a client away, with any other tool."""
    paths = tuple(_nodes(world, client))
    world.ensemble.commit(Gone(paths))
    zxid = world.ensemble.tree.zxid
    for path in paths:
        world.watch.robbed[layout.owner_of(name_of(path))] = (world.now, zxid)


_STRIKES: dict[Fault, Callable[[World, Client], None]] = {
    Fault.CUT: _cut,
    Fault.LAGGED: _lag,
    Fault.CANCELLED: _cancel,
    Fault.KILLED: _kill,
    Fault.FROZEN: _freeze,
    Fault.REVOKED: _rob,
}
