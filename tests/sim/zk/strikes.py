"""What can go wrong, and what each of it does to a client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from interlock.backends.zookeeper import names
from interlock.recipes.keep import NEVER
from interlock.testing.sim.clients import Cancelled

from .clients import Client
from .scenario import Fault
from .trees import Gone
from .watch import owned
from .world import Action, World


def strikes(world: World) -> list[Action]:
    """Everything that can go wrong at this moment."""
    kinds = world.scenario.kinds
    return [
        Action(partial(_strike, world, fault, act), client)
        for fault, client, act in _possible(world)
        if fault in kinds
    ]


World.strikes = strikes


def _strike(world: World, fault: Fault, act: Callable[[], object]) -> str:
    world.watch.seen.add(f"fault: {fault.value}")
    act()
    return fault.value


def _possible(world: World) -> Iterator[tuple[Fault, int, Callable[[], object]]]:
    for client in world.living:
        for fault, act in _of(world, client):
            yield fault, client.number, act
    for path in world.ensemble.tree.forsaken():
        yield Fault.REAPED, -1, partial(world.ensemble.commit, Gone((path,)))
    if world.next_instant() < NEVER:
        yield Fault.SLOW, -1, world.advance


def _of(world: World, client: Client) -> Iterator[tuple[Fault, Callable[[], object]]]:
    line = client.line
    if not client.frozen:
        yield Fault.FROZEN, partial(_freeze, world, client)
        if line.connected:
            yield Fault.CUT, partial(_cut, world, client)
        if client.main.request is not None and not client.cancelled:
            yield Fault.CANCELLED, partial(_cancel, client)
    if line.open and not line.server.lags:
        yield Fault.LAGGED, partial(_lag, world, client)
    if client.main.request is not None:
        yield Fault.KILLED, partial(_kill, world, client)
    if _nodes(world, client):
        yield Fault.REVOKED, partial(_rob, world, client)


def _execute_some(world: World, client: Client) -> None:
    """Of what was sent, some is executed before the connection breaks."""
    waiting = len(client.line.outbox) if client.line.open else 0
    for _ in range(world.chooser.pick(waiting + 1, waiting + 1, None) if waiting else 0):
        client.line.execute()


def _cut(world: World, client: Client) -> None:
    _execute_some(world, client)
    client.line.cut()


def _kill(world: World, client: Client) -> None:
    _execute_some(world, client)
    client.dead, client.frozen_at = True, float("inf")
    client.line.leave_server()
    for task in client.tasks:
        task.close()
    world.watch.died(client)


def _freeze(world: World, client: Client) -> None:
    client.frozen_at = world.now


def _cancel(client: Client) -> None:
    client.cancelled = True
    client.main.resume(None, Cancelled())


def _lag(world: World, client: Client) -> None:
    client.line.server.lags, client.line.server.lagged_at = True, world.now


def _nodes(world: World, client: Client) -> list[str]:
    nodes = world.ensemble.tree.nodes.items()
    return [path for path, node in nodes if node.owner and owned(client, names_of(path))]


def names_of(path: str) -> str:
    return path.rpartition("/")[2]


def _rob(world: World, client: Client) -> None:
    """An operator takes the nodes of a client away, with any other tool."""
    paths = tuple(_nodes(world, client))
    world.ensemble.commit(Gone(paths))
    zxid = world.ensemble.tree.zxid
    for path in paths:
        world.watch.robbed[names.owner_of(names_of(path))] = (world.now, zxid)
