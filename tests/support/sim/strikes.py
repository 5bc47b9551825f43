"""What each fault does to a client at the point where it strikes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from interlock.errors import OutcomeUnknown, StoreUnavailable
from interlock.model import PROVISIONAL
from interlock.steps import Call, Together

from .clients import Cancelled, Task
from .faults import Fault
from .states import essence

if TYPE_CHECKING:
    from .world import World

#: How much longer than a lease a pause beyond it lasts.
BEYOND = 0.5


def strike(world: World, task: Task, fault: Fault) -> None:
    """Let `fault` happen to a task at its present request."""
    task.client.hear(fault.value)
    _STRIKES[fault](world, task)


def _lose_request(world: World, task: Task) -> None:
    world.resume(task, None, OutcomeUnknown("the request was lost"))


def _lose_reply(world: World, task: Task) -> None:
    world.execute(task, task.request)
    world.resume(task, None, OutcomeUnknown("the reply was lost"))


def _delay_request(world: World, task: Task) -> None:
    world.send_late(task)
    world.resume(task, None, OutcomeUnknown("the request is late"))


def _refuse(world: World, task: Task) -> None:
    world.resume(task, None, StoreUnavailable("out of reach"))


def _cancel(world: World, task: Task) -> None:
    if _calls(task):
        if world.scenario.settles:
            world.execute(task, task.request)
        else:
            world.send_late(task)
    world.resume(task, None, Cancelled())


def _interrupt(world: World, task: Task) -> None:
    world.send_late(task)
    world.resume(task, None, Cancelled())


def _kill(world: World, task: Task) -> None:
    _end(world, task)
    task.client.subscribed = False


def _kill_sending(world: World, task: Task) -> None:
    world.send_late(task)
    _kill(world, task)


def _vanish(world: World, task: Task) -> None:
    listeners = dict(world.records.listeners)
    _end(world, task)
    # Whoever listened is still on the store's list; nobody is there to hear.
    for topic in listeners.keys() - world.records.listeners.keys():
        world.records.listeners[topic] = _nobody


def _nobody() -> None:
    pass


def _end(world: World, task: Task) -> None:
    client = task.client
    world.watch.died(client.number)
    client.dead, client.told = True, 0
    for each in client.tasks:
        each.steps.close()
        each.request = each.due = each.reply = None
    for hold in world.watch.holds:
        if hold.owner.startswith(f"{client.number}:"):
            hold.depth = 0  # nothing of it runs any more


def _pause(length: Callable[[Task], float]) -> Callable[[World, Task], None]:
    def pause(world: World, task: Task) -> None:
        _stop(world, task, world.now + length(task))

    return pause


def _stop(world: World, task: Task, until: float) -> None:
    task.client.paused = until
    world.watch.paused.add(task.client.number)


def _pause_sent(world: World, task: Task) -> None:
    task.reply = world.execute(task, task.request), None
    task.due = world.now + _past_lease(task)
    _stop(world, task, task.due)
    task.client.hear(essence(task.reply[0]))


def _slow(world: World, task: Task) -> None:
    answer = world.execute(task, task.request)
    task.due = world.now + _past_hand_over(task)
    task.reply = answer, None
    limit = _limit(task)
    if limit < task.due:
        task.due, task.reply = limit, (None, OutcomeUnknown("the reply did not come in time"))
    task.client.hear(essence(answer))


def _limit(task: Task) -> float:
    """How long the link waits for an answer."""
    request = task.request
    calls = request.calls if type(request) is Together else (request,)
    return min(call.until for call in calls if isinstance(call, Call))


def _past_hand_over(task: Task) -> float:
    return PROVISIONAL + BEYOND


def _past_lease(task: Task) -> float:
    return task.client.plan.lease + BEYOND


def _calls(task: Task) -> bool:
    return type(task.request) in (Call, Together)


_STRIKES: dict[Fault, Callable[[World, Task], None]] = {
    Fault.REQUEST_LOST: _lose_request,
    Fault.REPLY_LOST: _lose_reply,
    Fault.ARRIVES_LATE: _delay_request,
    Fault.REFUSED: _refuse,
    Fault.CANCELLED: _cancel,
    Fault.INTERRUPTED: _interrupt,
    Fault.KILLED: _kill,
    Fault.KILLED_SENDING: _kill_sending,
    Fault.VANISHED: _vanish,
    Fault.PAUSED: _pause(_past_hand_over),
    Fault.PAUSED_LONG: _pause(_past_lease),
    Fault.PAUSED_SENT: _pause_sent,
    Fault.SLOW: _slow,
}
