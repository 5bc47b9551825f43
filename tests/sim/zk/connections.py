"""A client's connection on paper: what `transport.py` is to the real servers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from interlock.backends.zookeeper.errors import unanswered
from interlock.backends.zookeeper.namespace import Node
from interlock.backends.zookeeper.transport.requests import Answer, Delete, ZkRequest, awaited
from tests.support.sim.holds import SimWakes

from .ensembles import Ensemble, Server, Session

LABEL = "paper"

#: Seconds that the servers keep a silent session.
TIMEOUT = 6.0


class Batch:
    """Questions asked at once, and what was answered so far."""

    def __init__(self, asks: Sequence[ZkRequest], until: float) -> None:
        self.asks, self.until = asks, until
        self.replies: list[Any] = [None] * len(asks)

    @property
    def done(self) -> bool:
        return None not in self.replies

    def settle(self, place: int, reply: Any) -> None:
        if self.replies[place] is None:
            self.replies[place] = reply

    def given_up(self) -> list[Any]:
        return [
            unanswered(ask, LABEL, "no answer in time") if reply is None else reply
            for ask, reply in zip(self.asks, self.replies, strict=True)
        ]


class Sent(NamedTuple):
    """A question on its way; without a batch nobody awaits the answer."""

    ask: ZkRequest
    batch: Batch | None
    place: int


class Heard(NamedTuple):
    """Something on its way back: an answer, a watch that fired, or the end of the connection."""

    sent: Sent | None = None
    reply: Any = None
    fired: str = ""
    zxid: int = 0


class SimConnection:
    """One client's way to its server."""

    session_timeout = TIMEOUT

    def alive_since(self, asked: float) -> float:
        """On paper every server tells the leader at once whom it has heard of."""
        return asked

    def __init__(
        self, ensemble: Ensemble, client: int, clock: Callable[[], float], tell: Any
    ) -> None:
        self._ensemble, self._client, self._clock, self._observer = ensemble, client, clock, tell
        self.session: Session = ensemble.greet(client, 0.0)
        self.seen = 0
        self.outbox: deque[Sent] = deque()
        self.inbox: deque[Heard] = deque()
        #: Whether the client takes it to be open; when it finds the
        #: next; and whether the server does.
        self.connected, self.back_at, self.open = True, 0.0, True
        self._unawaited: deque[ZkRequest] = deque()
        self._places: dict[Any, set[SimWakes]] = {}
        self._topics: dict[str, set[Any]] = {}
        self.server = self._dial(0)

    def _dial(self, knows: int) -> Server:
        server = Server(self._ensemble, knows, self._tell_fired)
        self._ensemble.servers.append(server)
        return server

    def _tell_fired(self, path: str) -> None:
        self.inbox.append(Heard(fired=path, zxid=self.server.tree.zxid))

    @property
    def idle(self) -> bool:
        return not (self.outbox or self.inbox or self._unawaited)

    # --- asking ----------------------------------------------------------------------------

    def ask(self, batch: Batch) -> None:
        for place, ask in enumerate(batch.asks):
            if not awaited(ask):
                batch.settle(place, Answer(None, self.session.number))
                self._unawaited.append(ask)
                continue
            if (topic := getattr(ask, "topic", None)) is not None:
                self._topics.setdefault(ask.path, set()).add(topic)
            self.outbox.append(Sent(ask, batch, place))
        if self.connected:
            self._send_unawaited()

    def _send_unawaited(self) -> None:
        self.outbox.extend(Sent(ask, None, 0) for ask in self._unawaited)
        self._unawaited.clear()

    def execute(self) -> str:
        """Let the server do the next thing that was asked; answers what, in words."""
        sent, number = self.outbox.popleft(), self.session.number
        value = self.server.perform(sent.ask, number)
        self.session.heard = self._clock()
        reply = Answer(value, number)
        self.inbox.append(Heard(sent, reply, zxid=self.server.tree.zxid))
        return f"{sent.ask} → {value}"

    def hear(self) -> str:
        """Take what comes next from the server; answers what, in words."""
        heard = self.inbox.popleft()
        self.seen = max(self.seen, heard.zxid)
        if heard.fired:
            for topic in self._topics.pop(heard.fired, set()):
                self._wake(topic)
            return f"hears that something became of {heard.fired}"
        if heard.sent is None:
            self.cut()
            return "finds its connection closed"
        if heard.sent.batch is not None:
            heard.sent.batch.settle(heard.sent.place, heard.reply)
        return f"hears the answer to {type(heard.sent.ask).__name__}"

    # --- waking ----------------------------------------------------------------------------

    def listen(self, topics: tuple[Any, ...]) -> SimWakes:
        (topic,) = topics
        wakes = SimWakes(lambda: self._places[topic].discard(wakes))
        self._places.setdefault(topic, set()).add(wakes)
        return wakes

    def _wake(self, topic: Any) -> None:
        if isinstance(topic, Node):
            topic.watched = False
            self._observer(False)
            return
        for place in self._places.get(topic, ()):
            place.wake()

    def _wake_all(self) -> None:
        for places in self._places.values():
            for place in places:
                place.wake()

    # --- losing the connection, and finding another -------------------------------------------

    def hang_up(self) -> None:
        """The server closes: what it has sent arrives, what it was sent does not."""
        self.leave_server()
        self.inbox.append(Heard())

    def cut(self) -> None:
        """The connection breaks: whatever is under way is lost, and every watch forgotten."""
        self.leave_server()
        lost = [*(each.sent for each in self.inbox), *self.outbox]
        self.connected = False
        self.outbox.clear()
        self.inbox.clear()
        for sent in lost:
            self._lose(sent)
        self._forget_watches()
        self._observer(True)
        self._wake_all()

    def leave_server(self) -> None:
        if self.open:
            self.open = False
            self._ensemble.servers.remove(self.server)

    def _lose(self, sent: Sent | None) -> None:
        if sent is None:
            return
        if sent.batch is not None:
            why = unanswered(sent.ask, LABEL, "the connection to the server broke")
            sent.batch.settle(sent.place, why)
        elif isinstance(sent.ask, Delete):
            self._unawaited.append(sent.ask)

    def _forget_watches(self) -> None:
        topics, self._topics = self._topics, {}
        for topic in (topic for each in topics.values() for topic in each):
            if isinstance(topic, Node):
                topic.watched = False

    def reconnect(self, behind: bool) -> str:
        """Go on with the session if it has not ended, perhaps on a server that lags behind."""
        new = self.session.gone
        if new:
            self.session = self._ensemble.greet(self._client, self._clock())
        knows = self.seen if behind and not new else len(self._ensemble.log)
        self.open = self.connected = True
        self.server = self._dial(knows)
        self.session.heard = self._clock()
        self._send_unawaited()
        self._observer(False)
        self._wake_all()
        return f"connects, session {self.session.number:x}"
