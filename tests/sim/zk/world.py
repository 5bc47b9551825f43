"""One run: clients, servers and a clock, moved on one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from interlock.recipes.renewal import NEVER
from tests.support.sim import Violation
from tests.support.sim.choices import Chooser

from .clients import Client
from .connections import TIMEOUT
from .ensembles import Ensemble, Session
from .scenario import Fault, Scenario
from .tasks import Task
from .watch import Watch

if TYPE_CHECKING:
    from .strikes import Strike

#: More steps than any run of a finite plan can take.
ENDLESS = 4000

#: What a step takes, in seconds: nearly nothing, but no two happen at once.
INSTANT = 1e-6

#: How long a connection may be away, or a process stand still: longer than a session, or less.
AWAY = (1.5 * TIMEOUT, 0.0, TIMEOUT / 3)

#: How long a server may lag behind, and the nodes of a session outlive it.
BEHIND, LINGERS = (TIMEOUT, 2 * TIMEOUT, 0.5), (TIMEOUT, 0.0, TIMEOUT / 3)


class Action(NamedTuple):
    """Something that can happen next; `act` answers in words what it was."""

    act: Callable[[], str]
    client: int = -1


class World:
    """Everything that one schedule moves."""

    #: What can go wrong next: see `strikes`.
    strikes: ClassVar[Callable[[World], list[Strike]]]

    def __init__(self, scenario: Scenario, chooser: Chooser, with_trace: bool = False) -> None:
        self.scenario, self.chooser, self.faults = scenario, chooser, scenario.faults
        self.now, self.steps = 0.0, 0
        self.trace: list[str] | None = [] if with_trace else None
        self.ensemble = Ensemble()
        self.watch = Watch(self)
        self.clients = [
            Client(number, plan, self.ensemble, self.watch, self.clock)
            for number, plan in enumerate(scenario.plans)
        ]

    def clock(self) -> float:
        return self.now

    def tell(self, client: int, what: str) -> None:
        if self.trace is not None:
            who = f"client {client}" if client >= 0 else "time"
            self.trace.append(f"{self.now:8.3f}  {who}  {what}")

    def tell_of(self, owner: str, what: str) -> None:
        if self.trace is not None:
            self.tell(int(owner[:2], 16) - 1, what)

    @property
    def living(self) -> list[Client]:
        return [each for each in self.clients if not each.dead]

    # --- moving on ---------------------------------------------------------------------------

    def run(self) -> None:
        for client in self.clients:
            for task in client.tasks:
                task.resume(None)
        while not self._finished():
            self._move()
            self.watch.check()
            self.steps += 1
            if self.steps > ENDLESS:
                raise Violation("a client never comes to its end")
        self.watch.finished(self.clients)

    def _finished(self) -> bool:
        return all(each.finished for each in self.clients) and not self.ensemble.lingering()

    def _move(self) -> None:
        plain = self._next()
        if not plain and self.next_instant() < NEVER:
            plain.append(Action(self._rest))
        if not plain:
            raise Violation("a client waits for ever")
        strikes = type(self).strikes(self) if self.faults else []
        width, choice = len(plain) + len(strikes), 0
        if width > 1:
            choice = self.chooser.pick(width, len(plain), None)
        self.now += INSTANT
        if choice < len(plain):
            self.tell(plain[choice].client, plain[choice].act())
        else:
            self.faults -= 1
            strike = strikes[choice - len(plain)]
            self.tell(strike.number, strike.act(self))

    # --- what can happen next ------------------------------------------------------------------

    def _next(self) -> list[Action]:
        """What is only a question of who comes first."""
        acts = [Action(act, each.number) for each in self.living for act in self._next_of(each)]
        return acts + [action for at, action in self._delayed() if at <= self.now]

    def _next_of(self, client: Client) -> list[Callable[[], str]]:
        line, acts = client.line, list[Callable[[], str]]()
        if not client.frozen:
            acts += [_going_on(task) for task in client.tasks if task.ready(self.now)]
            acts += [line.hear] if line.inbox else []
        return [*acts, line.execute] if line.open and line.outbox else acts

    def _delayed(self) -> list[tuple[float, Action]]:
        """What will happen by itself, and when."""
        found: list[tuple[float, Action]] = []
        for client in self.living:
            number, line = client.number, client.line
            if client.frozen:
                found.append((client.thaws_at, Action(client.thaw, number)))
            elif not line.connected:
                found.append((line.back_at, Action(self._connecting(client), number)))
            if line.open and line.server.lags:
                found.append((line.server.lags_until, Action(line.server.stop_lagging, number)))
        for session in self.ensemble.sessions.values():
            if not session.gone and not self._pings(session):
                found.append((session.heard + TIMEOUT, Action(self._expiring(session))))
        for session in self.ensemble.lingering():
            found.append((session.lingers_until, Action(self._burying(session))))
        return found

    def some(self, lengths: Sequence[float]) -> float:
        """One of several lengths of time."""
        return self.now + lengths[self.chooser.pick(len(lengths), len(lengths), None)]

    def _pings(self, session: Session) -> bool:
        """Whether the servers hear of a session all the time."""
        client = self.clients[session.client]
        line = client.line
        calm = line.open and not line.outbox and not client.frozen
        return calm and line.session is session

    def _connecting(self, client: Client) -> Callable[[], str]:
        def connect() -> str:
            behind = bool(self.faults and Fault.LAGGED in self.scenario.kinds)
            behind = behind and bool(self.chooser.pick(2, 2, None))
            self.faults -= behind
            words = client.line.reconnect(behind)
            client.line.server.lags_until = self.some(BEHIND) if behind else self.now
            return words

        return connect

    def _expiring(self, session: Session) -> Callable[[], str]:
        def expire() -> str:
            session.gone, session.lingers_until = True, self.some(LINGERS)
            self.watch.seen.add("a session ended")
            line = self.clients[session.client].line
            if line.open and line.session is session:
                line.hang_up()
            return f"session {session.number:x} ends"

        return expire

    def _burying(self, session: Session) -> Callable[[], str]:
        def bury() -> str:
            self.ensemble.bury(session)
            return f"the nodes of session {session.number:x} go"

        return bury

    # --- time ------------------------------------------------------------------------------------

    def _rest(self) -> str:
        self.watch.rests(self.clients)
        return self.advance()

    def advance(self) -> str:
        """Let time pass, to the next instant for which somebody waits."""
        instant = self.next_instant()
        if instant < NEVER:
            self.now = instant
        for client in self.living:
            session = client.line.session
            if self._pings(session):
                session.heard = max(session.heard, self.now - TIMEOUT / 3)
        return "passes"

    def next_instant(self) -> float:
        awake = [each for each in self.living if not each.frozen]
        dues = [task.due for each in awake for task in each.tasks if task.request is not None]
        dues += [at for at, _ in self._delayed()]
        return min((each for each in dues if each > self.now), default=NEVER)


def _going_on(task: Task) -> Callable[[], str]:
    def go_on() -> str:
        task.go_on()
        return task.words

    return go_on
