"""Telling states apart, so that ways which lead to the same one are followed once.

What a client will do is decided by what it was told so far and when, because recipes are
generators without any other input.  Names of clients make no difference, so that states
which differ only by an exchange of two clients with the same plan are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from interlock.steps import Reply

from .scenario import NAME, count_of, number_of

if TYPE_CHECKING:
    from .clients import Client
    from .world import World


def state_of(world: World) -> Hashable:
    """What decides everything that can still happen."""
    parts: list[list[Any]] = [_own(client) for client in world.clients]
    for late in world.late:
        parts[late.client].append(late.key())
    # Of those who have ended, with nothing left on its way, the store's memory is enough.
    past = {each.number for each in world.clients if each.finished} - {
        late.client for late in world.late
    }
    for kind, owner, fact in _facts(world, past):
        parts[number_of(owner)].append((kind, count_of(owner), fact))
    known = tuple(sorted(hash(tuple(part)) for part in parts))
    return world.now, world.faults, world.watch.calm, world.records.declared(NAME), known


def _own(client: Client) -> list[Any]:
    if client.finished:
        return [client.plan, client.dead, client.subscribed]
    woken = tuple(task.wakes is not None and task.wakes.woken for task in client.tasks)
    return [client.plan, client.told, client.paused, client.subscribed, woken]


def _facts(world: World, past: set[int]) -> Iterable[tuple[str, str, Hashable]]:
    """What the store and the watch know of each owner."""
    records, watch = world.records, world.watch
    for owner, (_, weight, until) in records.holds.get(NAME, {}).items():
        ended = owner in watch.unconfirmed, owner in watch.gone
        yield "holds", owner, (until, weight, ended)
    for place, owner in enumerate(records.queues.get(NAME, ())):
        yield "waits", owner, (place, owner in watch.unconfirmed, owner in watch.gone)
    for place, owner in enumerate(watch.arrivals):
        yield "arrived", owner, place
    for _, owner in sorted(records.listeners):
        yield "listens", owner, None
    for owner in sorted(records.tombs):
        if number_of(owner) not in past:
            yield "buried", owner, records.tombs[owner]
    for owner in sorted(watch.gone | watch.unconfirmed):
        if number_of(owner) not in past:
            yield "ended", owner, (owner in watch.gone, owner in watch.unconfirmed)


def essence(reply: Reply) -> Hashable:
    """What of a reply can make a difference to its reader: neither names nor tokens do."""
    if isinstance(reply, tuple) and reply:
        return reply[0], reply[2] if len(reply) > 2 else None
    if isinstance(reply, list):
        return tuple(essence(each) for each in reply)
    return reply if isinstance(reply, int) else None
