"""One run: clients, a store and a clock, moved on one step at a time."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from interlock.ledger import GRANTED, attempt
from interlock.model import PROVISIONAL
from interlock.steps import Call, Listen, Park, Reply, Together

from .actions import Action, Late, Menu, fork, listens, next_instant
from .choices import Chooser
from .clients import Cancelled, Client, Task
from .deliveries import carry, find
from .faults import Fault
from .holds import SimWakes
from .scenario import NAME, Scenario, number_of
from .states import essence, state_of
from .strikes import strike
from .watch import Violation, Watch

#: More steps than any run of a finite plan can take.
ENDLESS = 5000


class World:
    """Everything that one schedule moves."""

    def __init__(
        self, scenario: Scenario, chooser: Chooser, menu: Menu, with_trace: bool = False
    ) -> None:
        self.scenario, self.chooser, self.menu = scenario, chooser, menu
        self.now, self.steps, self.faults = 0.0, 0, scenario.faults
        self.trace: list[str] | None = [] if with_trace else None
        rate = scenario.rate
        self.records = scenario.records(lambda: self.now * rate)
        self.records.carry, self.records.find = partial(carry, self), partial(find, self)
        self.watch = Watch(scenario, self.records, self.clock)
        self.late: list[Late] = []
        self.clients = [
            Client(number, plan, scenario, self.watch, self.clock)
            for number, plan in enumerate(scenario.plans)
        ]
        self.tasks = [task for client in self.clients for task in client.tasks]

    def clock(self) -> float:
        return self.now

    def run(self) -> None:
        """Go on until nobody has anything left to do, then look at what is left."""
        for task in self.tasks:
            self.resume(task, None)
        while self._move():
            self.steps += 1
            if self.steps > ENDLESS:
                raise Violation("a client never comes to its end")
        self._finish()

    def _move(self) -> bool:
        """Take one step; False when there is none left to take."""
        known = self.chooser.recall()
        if known is not None:
            self._act(self._decoded(*known))
            return True
        ways = fork(self)
        if not ways.width:
            return False
        action, forked = ways.plain[0], ways.width > 1
        if forked:
            choice = self.chooser.pick(ways.width, len(ways.plain), self._state)
            action = ways.way(choice)
        code = self._encoded(action)
        self._act(action)
        self.chooser.remember(code, forked)
        return True

    def _encoded(self, action: Action) -> tuple[int, Fault | None, int]:
        """An action as numbers that mean the same in the next run."""
        task = -1 if action.task is None else self.tasks.index(action.task)
        late = -1 if action.late is None else self.late.index(action.late)
        return task, action.fault, late

    def _decoded(self, task: int, fault: Fault | None, late: int) -> Action:
        return Action(
            None if task < 0 else self.tasks[task], fault, None if late < 0 else self.late[late]
        )

    def _state(self) -> Hashable:
        return state_of(self)

    # --- what happens --------------------------------------------------------------------

    def _act(self, action: Action) -> None:
        if action.late is not None:
            self._arrive(action.late)
        elif action.task is None:
            self._advance()
        elif action.fault is not None:
            self.use_fault(action.task.client.number, action.fault)
            strike(self, action.task, action.fault)
        else:
            self._step(action.task)

    def use_fault(self, client: int, fault: Fault) -> None:
        """Something goes wrong for a client."""
        self.faults -= 1
        self.watch.calm = False
        self.watch.seen.add(f"fault: {fault.value}")
        self.tell(client, fault.value)

    def _step(self, task: Task) -> None:
        request = task.request
        if task.due is not None:
            self._go_on(task)
        elif type(request) is Listen:
            self.resume(task, self._listen(task.client, request.topics))
        else:
            self.resume(task, self.execute(task, request))

    def _go_on(self, task: Task) -> None:
        if task.reply is not None:
            return self.resume(task, *task.reply)
        woken = False
        if (wakes := task.wakes) is not None:
            woken, wakes.woken = wakes.woken, False
        return self.resume(task, woken)

    def execute(self, task: Task, request: Any) -> Reply:
        """Let the store do what was asked."""
        if type(request) is Together:
            return [self._apply(task.client.number, call) for call in request.calls]
        return self._apply(task.client.number, request)

    def _apply(self, client: int, request: Call, late: bool = False) -> Reply:
        self.watch.executing(request)
        answer = request.operation(self.records, *request.keys, *request.args)
        if self.trace is not None:
            words = f"{request.operation.__name__}{request.args[1:]} → {answer}"
            self.tell(client, f"{words} (late)" if late else words)
        self.watch.executed(request, answer, late)
        return answer

    def _listen(self, client: Client, topics: tuple[Any, ...]) -> SimWakes:
        (topic,) = topics
        wakes = SimWakes(lambda: self.records.listeners.pop(topic, None))
        self.records.listeners[topic] = wakes.wake
        client.subscribed = True
        self.tell(client.number, "listens")
        return wakes

    def _arrive(self, late: Late) -> None:
        self.late.remove(late)
        if late.request is not None:
            self._apply(late.client, late.request, late=True)
        elif late.wakes is not None:
            self.tell(late.client, "the delayed wake arrives")
            late.wakes.wake()

    def _advance(self) -> None:
        instant = next_instant(self)
        assert instant is not None
        self.watch.passes(instant, self._waiting())
        self.now = instant

    def _waiting(self) -> list[str]:
        """The owners of those who wait for a wake and could go on at once."""
        listening = {number_of(owner): owner for _, owner in self.records.listeners}
        return [
            listening[task.client.number]
            for task in self.tasks
            if task.main and task.parked and task.client.number in listening
        ]

    # --- tasks ---------------------------------------------------------------------------

    def resume(self, task: Task, reply: Reply, error: BaseException | None = None) -> None:
        """Let a task go on to its next request."""
        task.client.hear(task.main, type(error).__name__, essence(reply))
        task.due = task.reply = None
        try:
            steps = task.steps
            task.request = steps.send(reply) if error is None else steps.throw(error)
        except (StopIteration, Cancelled):
            task.request = None
        self._begin_waiting(task)

    def _begin_waiting(self, task: Task) -> None:
        if type(task.request) is Park:
            task.due = task.request.until
            if task.main and listens(self, task.client) and task.request.wakes is not None:
                self.watch.parks(task.due)
        if task.client.plan.kept:
            task.client.retire_keeper()

    def send_late(self, task: Task) -> None:
        """Send what a task has asked for, to arrive at some later point."""
        request = task.request
        calls = request.calls if type(request) is Together else (request,)
        for call in calls:
            assert isinstance(call, Call)
            self.late.append(Late(task.client.number, call, None))

    # --- the end -------------------------------------------------------------------------

    def _finish(self) -> None:
        """Everything is quiet: nothing may be left, and the lock must be obtainable."""
        if not all(task.done for task in self.tasks):
            raise Violation("a client waits for ever")
        self.watch.check_leaks({each.number for each in self.clients if not each.dead})
        self.now += self.watch.longest / self.scenario.rate + 0.001
        for held in self.records.held(NAME):
            raise Violation(f"{held.owner} is on record longer than its lease")
        for _ in range(len(self.clients) + 1):
            if self._obtainable():
                return
            self.now += PROVISIONAL / self.scenario.rate
        raise Violation("the lock cannot be had any more")

    def _obtainable(self) -> bool:
        """Whether somebody new can have the whole of it."""
        store, _, room = self.scenario.plans[0].want
        answer = attempt(self.records, NAME, store.kind, "probe:1", 1.0, False, room, room)
        return bool(answer[0] == GRANTED)

    def tell(self, client: int, what: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.now:8.3f}  client {client}  {what}")
