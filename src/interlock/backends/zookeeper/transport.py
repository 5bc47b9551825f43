"""One kazoo client: its session, its connection, and who waits for what.

Three threads are kazoo's, whatever the number of locks.  Answers are taken from kazoo's own
loop, where they arrive, and not from its queue of finished calls: that saves a change of
threads for each answer; and what is asked together travels together: see `pump`.  The queue,
the requests and the loop are private to kazoo, which is why its version is bounded, and why
`tests/backends/zookeeper/test_kazoo.py` and `test_pump.py` say what we rely on.

Nothing is asked while the connection is away: kazoo would keep the question without any limit
of time, and ask it when nobody wants to know any more.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from typing import Any

from kazoo.client import CLOSED_STATES, KazooClient
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry

from ...drive import now
from ...errors import StoreError, StoreUnavailable, closed
from .batches import Batch, Slot
from .doors import FAREWELL, Door, Parting
from .errands import Errands
from .nodes import Node
from .pulse import Pulse
from .pump import Burst, Pump
from .settings import Settings, client_options
from .watches import Watches
from .wire import Answer, Ask, Sync, awaited, disbelieved, packed

#: What kazoo has to say, for those who want to read it: nothing of it is news to our callers.
kazoo_log = logging.getLogger("interlock.zookeeper.kazoo")
kazoo_log.addHandler(logging.NullHandler())

#: Seconds between attempts to connect, the first and the longest: operators wait for this.
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0


class Transport:
    """A way to the servers, shared by all of a client.  Its methods never block."""

    def __init__(self, settings: Settings) -> None:
        self.label, self._settings = settings.label, settings
        self._mutex = threading.Lock()
        self._client: Any = None
        self.pulse = Pulse(settings.session_timeout)
        self.closed = self._away = False
        #: The servers do not believe that we are who we say.
        self._disbelieved = False
        #: Who waits for the connection, and for what becomes of which nodes.
        self.watches = Watches()
        self._errands = Errands(self.label)
        self._watcher = self._fired  # one object, so that kazoo keeps it once for each path
        self._observer: Callable[[bool], None] = lambda doubtful: None

    # --- asking -------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        return self._client is not None and bool(self._client.connected)

    def patience(self, until: float) -> float:
        """How long to wait for a connection; a first one takes its time, whoever waits."""
        longest = now() + self._settings.connect_timeout
        return longest if self._client is None else min(until, longest)

    @property
    def session(self) -> int:
        """The session that an answer of this moment belongs to; 0 without one."""
        return 0 if self._client is None else self._client._session_id or 0

    def ask(self, batch: Batch) -> None:
        """Send questions, one behind the other."""
        burst = Burst()
        for place, ask in enumerate(batch.asks):
            if not awaited(ask):
                batch.settle(place, Answer(None, self.session))
                self._errands.add(ask)
                continue
            if isinstance(ask, Sync) and not ask.always and self.pulse.fresh(batch.sent):
                batch.settle(place, Answer(None, self.session))
                continue
            topic = getattr(ask, "topic", None)
            if topic is not None:
                self.watches.watch(ask.path, topic)
            burst.each.append((self._packed(ask), Slot(self, batch, place)))
        if self.connected:
            self._errands.send(lambda ask, heard: burst.each.append((self._packed(ask), heard)))
        if burst.each:
            self._ask(burst)

    def _ask(self, burst: Burst) -> None:
        """Hand a burst to kazoo's loop.

        Not by kazoo's `_call`, which takes a Ctrl-C in there for a connection that is closed.
        """
        client = self._client
        if client is None or client.client_state in CLOSED_STATES:
            raise self.unreachable()  # somebody has closed it just now, or the session ended
        client._queue.append((burst, burst))
        client._connection.ring()

    def _send(self, ask: Ask, heard: Any) -> None:
        burst = Burst()
        burst.each.append((self._packed(ask), heard))
        self._ask(burst)

    def _packed(self, ask: Ask) -> Any:
        return packed(ask, self._settings.acl, self._watcher)

    def hopeless(self, until: float) -> bool:
        """Whether there is no use in waiting for a connection; or none any more, for somebody
        who wants it until an instant, because we know what is the matter."""
        if self.closed or self._refusal() is not None:
            return True
        return now() >= until and self._trouble() != ""

    def _refusal(self) -> StoreError | None:
        if self._disbelieved:
            return disbelieved(self.label)
        return None if self._client is None else self._client.handler.refusal

    def unreachable(self) -> StoreError:
        """What to say when there is no connection in time."""
        if self.closed:
            return closed(self.label)
        return self._refusal() or StoreUnavailable(
            f"{self.label} cannot be reached{self._trouble()}: is it running, and is that its "
            "address?",
            self.label,
        )

    def _trouble(self) -> str:
        trouble = "" if self._client is None else self._client.handler.trouble
        return f" ({trouble})" if trouble else ""

    # --- waking -------------------------------------------------------------------------

    def observe(self, observer: Callable[[bool], None]) -> None:
        """Tell when the connection goes (True), and when it or a hold of ours may have changed."""
        self._observer = observer

    def _fired(self, event: Any) -> None:
        """Something became of a node; without a path it is the connection that went."""
        if event.path is None:
            return  # the listener has said so
        for topic in self.watches.fired(event.path):
            self._wake(topic)

    def _wake(self, topic: Any) -> None:
        if isinstance(topic, Node):
            topic.watched = False
            if not topic.left:
                self._observer(False)
            return
        for place in self.watches.places(topic):
            place.wake()

    def _wake_all(self) -> None:
        for place in self.watches.every_place():
            place.wake()

    def _changed(self, state: str) -> None:
        """Called in kazoo's loop: it must be quick, and must not wait for any answer."""
        if state == KazooState.CONNECTED:
            self._errands.send(self._send)
        else:
            self._forget_watches()
            self._disbelieved = _state_of(self._client) == KeeperState.AUTH_FAILED
        away, self._away = self._away, state != KazooState.CONNECTED
        if not self.closed and (away or self._away):  # the first connection changes nothing
            self._observer(self._away)
        self._wake_all()

    def _forget_watches(self) -> None:
        """Kazoo has forgotten them as well: whoever wants to know must ask again."""
        for topic in self.watches.clear():
            if isinstance(topic, Node):
                topic.watched = False

    # --- life ---------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect, unless that was done; it goes on by itself."""
        with self._mutex:
            if self._disbelieved:
                self._dismiss()
            if self._client is None and not self.closed:
                self._client = self._open()
                self._client.start_async()

    def _dismiss(self) -> None:
        """Kazoo does not try again when it was not believed; we do when we are asked to."""
        client, self._client, self._disbelieved = self._client, None, False
        if client is not None:
            client.handler.stop()
            client._connection.stop(FAREWELL)
            client.close()

    def _open(self) -> Any:
        handler = Door(self._settings, self._wake_all)
        retry = KazooRetry(
            max_tries=-1,
            delay=FIRST_PAUSE,
            max_delay=LONGEST_PAUSE,
            sleep_func=handler.sleep_func,
        )
        client = KazooClient(
            handler=handler,
            connection_retry=retry,
            logger=kazoo_log,
            **client_options(self._settings),
        )
        client._connection = Pump(client, self.pulse)
        client.add_listener(self._changed)
        return client

    def after_fork(self) -> None:
        """The threads are the parent's, and so is the session: begin anew at the next call."""
        client, self._client = self._client, None
        self._mutex = threading.Lock()
        self.watches, self._errands = Watches(), Errands(self.label)
        if client is not None:
            atexit.unregister(client.handler.stop)

    def part(self) -> Parting | None:
        """End the session, and everything in it; the next question would begin another."""
        with self._mutex:
            client, self._client = self._client, None
        self._wake_all()
        return None if client is None else Parting(client, self._changed)


def _state_of(client: Any) -> Any:
    """What kazoo says of a connection when it is asked for more than its listeners are told."""
    return None if client is None else client.client_state
