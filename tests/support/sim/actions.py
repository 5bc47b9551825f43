"""What can happen next: who can go on, what can arrive, what can go wrong."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from interlock.recipes.renewal import NEVER
from interlock.steps import Call, Listen, Park

from .clients import Client, Task
from .faults import AT_CALL, AT_LISTEN, AT_PARK, OF_MAIN, Fault
from .holds import SimWakes
from .scenario import number_of

if TYPE_CHECKING:
    from .world import World


class Late(NamedTuple):
    """A message on its way: a question, or a wake."""

    client: int
    request: Call | None
    wakes: SimWakes | None

    def key(self) -> Hashable:
        if self.request is None:
            return "wake"
        return self.request.operation.__name__, self.request.args[1:]


class Action(NamedTuple):
    """Something that can happen next; with nothing set, time passes."""

    task: Task | None = None
    fault: Fault | None = None
    late: Late | None = None


class Fork:
    """Every way to go on; those on which something goes wrong come last."""

    __slots__ = ("plain", "strikes", "width")

    def __init__(self, plain: list[Action], strikes: list[tuple[Task, list[Fault]]]) -> None:
        self.plain, self.strikes = plain, strikes
        self.width = len(plain) + sum(len(faults) for _, faults in strikes)

    def way(self, choice: int) -> Action:
        if choice < len(self.plain):
            return self.plain[choice]
        choice -= len(self.plain)
        for task, faults in self.strikes:
            if choice < len(faults):
                return Action(task, faults[choice])
            choice -= len(faults)
        raise IndexError(choice)


class Menu:
    """Which faults of a scenario can strike where."""

    def __init__(self, kinds: frozenset[Fault]) -> None:
        self._faults: dict[tuple[Any, bool, bool], list[Fault]] = {}
        for request in (Call, Listen, Park):
            for main in (True, False):
                possible = kinds & _possible(request, main)
                self._faults[request, main, True] = [each for each in Fault if each in possible]
                possible -= {Fault.VANISHED}
                self._faults[request, main, False] = [each for each in Fault if each in possible]

    def strikes(self, world: World, tasks: list[Task]) -> list[tuple[Task, list[Fault]]]:
        """What can strike each task at its present request."""
        if not world.faults:
            return []
        return [(task, self._at(world, task)) for task in tasks if task.reply is None]

    def _at(self, world: World, task: Task) -> list[Fault]:
        kind = type(task.request)
        heard = hears(world, task.client)
        return self._faults[kind if kind in (Listen, Park) else Call, task.main, heard]


def _possible(request: Any, main: bool) -> frozenset[Fault]:
    faults = {Call: AT_CALL, Listen: AT_LISTEN, Park: AT_PARK}[request]
    return faults if main else faults - OF_MAIN


def hears(world: World, client: Client) -> bool:
    """Whether the store would find this client listening."""
    return client.subscribed if world.scenario.shared_ear else listens(world, client)


def listens(world: World, client: Client) -> bool:
    """Whether this client waits for a wake."""
    return any(number_of(owner) == client.number for _, owner in world.records.listeners)


def fork(world: World) -> Fork:
    """Everything that can happen next."""
    awake = [task for task in world.tasks if not task.done and task.client.paused <= world.now]
    ripe = [task for task in awake if task.ripe(world.now)]
    if ripe:
        # Going on is local, so one client after another; but it can be struck before.
        ripe = [task for task in ripe if task.client is ripe[0].client]
        return Fork([Action(task) for task in ripe], world.menu.strikes(world, ripe))
    ready = [task for task in awake if task.due is None]
    plain = [Action(task) for task in ready]
    plain += [Action(late=late) for late in world.late]
    if not ready and next_instant(world) is not None:
        plain.append(Action())
    if not plain:
        return Fork([], [])
    parked = [task for task in awake if task.parked]
    return Fork(plain, world.menu.strikes(world, ready + parked))


def next_instant(world: World) -> float | None:
    """When the next pause ends, if any does."""
    instants = [
        max(task.due or 0.0, task.client.paused)
        for task in world.tasks
        if not task.done and (task.due is not None or task.client.paused > world.now)
    ]
    return min((each for each in instants if each < NEVER), default=None)
