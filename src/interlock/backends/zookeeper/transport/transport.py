"""One kazoo client: its session, its connection, and its waiters.

Three threads are kazoo's, whatever the number of locks: its loop, which starts and ends it as
well (see `client_thread`), one that tells the observer, and one that has nothing to do.  Answers
are taken from the loop, where they arrive, and not from kazoo's queue of finished calls: that
saves a change of threads for each answer; and what is asked together travels together.  For that
we need private parts of kazoo: see `kazoo_private`.

Signal handlers may want answers, and strike wherever they like.  So the loop never waits for a
mutex that another thread may have; and what the others take is reentrant, or no mutex at all.

Nothing is asked while the connection is away: kazoo would keep the request without any limit
of time, and send it when no caller waits for the answer any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kazoo.protocol.states import KazooState, KeeperState

from ....drive import now
from ....errors import StoreError, StoreUnavailable, closed
from ....parking import is_mine
from ..errors import credentials_refused
from ..namespace import Node
from ..url import ZkSettings
from .answers import Batch, PendingAnswer, SessionClock, UnawaitedRequests, Watches
from .client_thread import ClientThread, choose_loop, new_client
from .handler import Handler
from .kazoo_private import Burst, as_kazoo
from .requests import Answer, Sync, ZkRequest, awaited

#: Without a session, or about to end: nothing can be asked any more.
_CLOSED = (KeeperState.EXPIRED_SESSION, KeeperState.AUTH_FAILED, KeeperState.CLOSED)

#: Seconds that a caller may wait longer for the first connection than for an answer.
FIRST = 0.75


class Transport:
    """A way to the servers, shared by all of a client.  Its methods never block."""

    def __init__(self, settings: ZkSettings) -> None:
        self.label, self._settings = settings.label, settings
        # Between threads that begin; a thread that ends never waits for it, nor does kazoo's loop.
        self._mutex = threading.RLock()
        self._thread: ClientThread | None = None
        self.clock = SessionClock(settings.session_timeout)
        self.closed = self._away = False
        #: The servers do not believe that we are who we say.
        self._credentials_refused = False
        #: The waiters for the connection, and for what becomes of which nodes.
        self.watches = Watches()
        self._unawaited = UnawaitedRequests(self.label)
        self._watcher = self._fired  # one object, so that kazoo keeps it once for each path
        self._observer: Callable[[bool], None] = lambda suspended: None

    # --- asking -------------------------------------------------------------------------

    @property
    def _client(self) -> Any:
        thread = self._thread
        return None if thread is None else thread.client

    @property
    def connected(self) -> bool:
        thread = self._thread
        return thread is not None and bool(thread.client.connected)

    def check_thread(self) -> None:
        """Raise in the thread by which answers come: it must not wait for one."""
        thread = self._thread
        if thread is not None and thread.is_current:
            raise StoreUnavailable(
                f"{self.label} cannot be asked by a finalizer in the thread by which its answers "
                "come: let it set a flag, and act on it elsewhere",
                self.label,
                final=True,
            )

    def patience(self, until: float) -> float:
        """How long to wait for a connection; a first one may take a little longer."""
        longest = now() + self._settings.connect_timeout
        return min(until if self._thread is not None else until + FIRST, longest)

    @property
    def session(self) -> int:
        """The session that an answer of this moment belongs to; 0 without one."""
        thread = self._thread
        return 0 if thread is None else thread.session

    def ask(self, batch: Batch) -> None:
        """Send requests, one behind the other."""
        burst = Burst()
        for place, request in enumerate(batch.requests):
            if not awaited(request):
                batch.settle(place, Answer(None, self.session))
                self._unawaited.add(request)
                continue
            if isinstance(request, Sync) and self._can_skip(request, batch):
                batch.settle(place, Answer(None, self.session))
                continue
            topic = getattr(request, "topic", None)
            if topic is not None:
                self.watches.watch(request.path, topic)
            burst.each.append((self._as_kazoo(request), PendingAnswer(self, batch, place)))
        self._hand_over(burst)

    def _can_skip(self, sync: Sync, batch: Batch) -> bool:
        """Whether the leader has answered so lately that it need not be asked for this."""
        return not sync.always and self.clock.leader_is_recent(batch.sent)

    def _hand_over(self, burst: Burst) -> None:
        """Hand a burst to kazoo's loop, and with it what no caller waits for."""
        unawaited = self._unawaited.left() if self._unawaited.waiting and self.connected else []
        for request, answer in unawaited:
            burst.each.append((self._as_kazoo(request), answer))
        if burst.each:
            self._submit(burst)
        if unawaited:
            self._unawaited.sent(unawaited)

    def _submit(self, burst: Burst) -> None:
        thread = self._thread
        if thread is None or thread.client.client_state in _CLOSED:
            raise self.unreachable()  # it was closed just now, or the session ended
        try:
            thread.loop.submit(burst)
        except OSError:  # its loop has ended meanwhile, and sends nothing any more
            raise self.unreachable() from None

    def _as_kazoo(self, request: ZkRequest) -> Any:
        return as_kazoo(request, self._settings.acl, self._watcher)

    def hopeless(self, until: float) -> bool:
        """Whether there is no use in waiting for a connection; or none any more, for a caller
        who wants it until an instant, because we know what is the matter."""
        if self.closed or self._refusal() is not None:
            return True
        return now() >= until and self._trouble() != ""

    def _refusal(self) -> StoreError | None:
        if self._credentials_refused:
            return credentials_refused(self.label)
        client = self._client
        return None if client is None else client.handler.refusal

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
        client = self._client
        trouble = "" if client is None else client.handler.trouble
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

    def _tell(self, suspended: bool) -> None:
        """Tell the observer, but not in kazoo's loop: the observer may wait for a thread that
        waits for an answer, in a signal handler."""
        client = self._client
        if client is not None:
            client.handler.tell(self._observer, suspended)

    def _wake(self, topic: Any) -> None:
        if isinstance(topic, Node):
            topic.watched = False
            if not topic.left:
                self._tell(False)
            return
        for waiter in self.watches.waiters(topic):
            waiter.wake()

    def _wake_all(self) -> None:
        for waiter in self.watches.every_waiter():
            waiter.wake()

    def _changed(self, state: str) -> None:
        """Called in kazoo's loop: it must be quick, and must not wait for any answer."""
        if state == KazooState.CONNECTED:
            self._hand_over(Burst())
        else:
            self._forget_watches()
            self._credentials_refused = _state_of(self._client) == KeeperState.AUTH_FAILED
        away, self._away = self._away, state != KazooState.CONNECTED
        if not self.closed and (away or self._away):  # the first connection changes nothing
            self._tell(self._away)
        self._wake_all()

    def _forget_watches(self) -> None:
        """Kazoo has forgotten them as well: a waiter that wants to know must ask again."""
        for topic in self.watches.clear():
            if isinstance(topic, Node):
                topic.watched = False

    # --- the client ---------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect, unless that was done; it goes on by itself.

        A signal handler that strikes in here does the same, and finds or leaves it done.
        """
        with self._mutex:
            if self._credentials_refused or (self._thread is not None and self._thread.over):
                self._dismiss()
            if self._thread is None and not self.closed:
                opened = self._open()
                if self._thread is None:
                    self._thread = opened
            thread = self._thread
        if thread is not None:
            thread.start()
            if self.closed or thread is not self._thread:
                thread.request_close()  # it was ended meanwhile, perhaps before it was known

    def _dismiss(self) -> None:
        """Kazoo never tries refused credentials again; we do when a caller asks."""
        thread, self._thread, self._credentials_refused = self._thread, None, False
        if thread is not None:
            thread.client.remove_listener(self._changed)
            thread.request_close()

    def _open(self) -> ClientThread:
        handler = Handler(self._settings, self._wake_all, self.watches.catch_up)
        client = new_client(self._settings, handler)
        loop = choose_loop(client, self.clock)
        client.add_listener(self._changed)
        return ClientThread(client, loop, self._wake_all)

    def engaged(self) -> bool:
        """Whether this thread keeps others from beginning to connect."""
        return is_mine(self._mutex)

    def after_fork(self) -> None:
        """The threads are the parent's, and so is the session: begin anew at the next call."""
        self._thread, self._mutex = None, threading.RLock()
        self.watches, self._unawaited = Watches(), UnawaitedRequests(self.label)

    def end_session(self) -> ClientThread | None:
        """End the session, and everything in it; the next request would begin another.

        Nothing is waited for, wherever it is called: see `client_thread`.
        """
        thread = self._thread
        if thread is not None:
            self._thread = None
            thread.client.remove_listener(self._changed)
            thread.request_close()
        return thread


def _state_of(client: Any) -> Any:
    """What kazoo says of a connection when it is asked for more than its listeners are told."""
    return None if client is None else client.client_state
