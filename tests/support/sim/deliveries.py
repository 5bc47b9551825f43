"""What waiters hear of the store, and what the store believes that they hear."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from .actions import Late
from .faults import WAKES, Fault
from .scenario import number_of

if TYPE_CHECKING:
    from .world import World

Listener: TypeAlias = Callable[[], None]


def carry(world: World, owner: str, listener: Listener | None) -> bool:
    """Carry a wake from the store to a waiter, unless something happens to it."""
    fault = _fault(world, owner, WAKES) if _there(world, owner, listener) else Fault.DEAF
    if fault is Fault.DEAF:
        world.watch.dropped(owner)
        return False
    world.watch.handed_over(owner)
    if fault is Fault.WAKE_LATE:
        place = getattr(listener, "__self__", None)
        world.late.append(Late(number_of(owner), None, place))
    elif fault is None and listener is not None:
        listener()
    return True


def find(world: World, owner: str, listener: Listener | None) -> bool:
    """Look whether a waiter for whom there is no room yet still hears."""
    there = _there(world, owner, listener)
    if there and _fault(world, owner, frozenset({Fault.DEAF})) is None:
        return True
    world.watch.dropped(owner)
    return False


def _there(world: World, owner: str, listener: Listener | None) -> bool:
    client = world.clients[number_of(owner)]
    return listener is not None or (world.scenario.shared_ear and client.subscribed)


def _fault(world: World, owner: str, kinds: frozenset[Fault]) -> Fault | None:
    """Let one of these faults happen, or none."""
    faults = [each for each in Fault if each in kinds & world.scenario.kinds]
    if not world.faults or not faults:
        return None
    choice = world.chooser.pick(len(faults) + 1, 1, None)
    if not choice:
        return None
    world.use_fault(number_of(owner), faults[choice - 1])
    return faults[choice - 1]
