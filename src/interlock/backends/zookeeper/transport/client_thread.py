"""A kazoo client from its start to its end, and which loop it runs.

Kazoo has mutexes that must not be wanted twice by one thread.  So it is started, and cleared away,
by one thread alone, which no signal handler interrupts; a thread that begins or ends it only
leaves word.  That may be a signal handler or a finalizer, in whatever thread it strikes, also in
kazoo's loop.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry
from kazoo.version import __version__ as kazoo_version

from ....errors import Unsupported
from ....passwords import asked
from ..url import ZkSettings
from .answers import SessionClock
from .handler import Handler
from .kazoo_private import (
    BASICS,
    BATCHING,
    BatchingConnection,
    Burst,
    call_each,
    changed_parts,
)
from .sockets import Flag

log = logging.getLogger("interlock.zookeeper")

#: What kazoo logs, for operators who want to read it: nothing of it is news to our callers.
kazoo_log = logging.getLogger("interlock.zookeeper.kazoo")
kazoo_log.addHandler(logging.NullHandler())

#: Seconds between attempts to connect, the first and the longest: operators wait for this.
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

#: Seconds for which closing waits for the server's farewell.
FAREWELL = 1.0

#: Seconds in which kazoo's thread notices that its connection has gone.
MOMENT = 0.2


class Loop(Protocol):
    """What runs a kazoo client; only `run` blocks."""

    def run(self, closing: Callable[[], bool]) -> None:
        """Start the client, and return when its session has ended."""

    def submit(self, burst: Burst) -> None: ...

    def request_close(self) -> None: ...


class KazooLoop:
    """Kazoo's own loop, in a thread of its own: for every request it wakes up, and asks which
    socket is ready.

    It reads an answer without looking at the clock while it drips in, and of its own pings it
    tells nothing: so what is known of the session is a little older, and never too young.
    """

    def __init__(self, client: Any, clock: SessionClock) -> None:
        self._client, self._handler = client, client.handler
        self._handler.on_greeting = clock.greeted

    def run(self, closing: Callable[[], bool]) -> None:
        self._client.start_async()
        if not closing():
            self._handler.thread_ended.wait()
        self._client.stop()

    def submit(self, burst: Burst) -> None:
        call_each(self._client, burst)

    def request_close(self) -> None:
        self._handler.thread_ended.set()


def choose_loop(client: Any, clock: SessionClock) -> Loop:
    """The batching loop, if this kazoo has all that it needs, and kazoo's own otherwise."""
    if missing := changed_parts(client, BASICS):
        raise Unsupported(
            f"kazoo {kazoo_version} lacks what Interlock needs of it ({', '.join(missing)}): "
            "install another version of kazoo"
        )
    if changed := changed_parts(client, BATCHING):
        _say_slower(", ".join(changed))
        return KazooLoop(client, clock)
    return BatchingConnection(client, clock)


@cache
def _say_slower(changed: str) -> None:
    """Once is enough."""
    log.warning(
        "kazoo %s differs in %s: locks on ZooKeeper use kazoo's own loop, which is slower",
        kazoo_version,
        changed,
    )


class ClientThread:
    """One kazoo client and the thread that it lives in; `ended` is called there at its end."""

    def __init__(self, client: Any, loop: Loop, ended: Callable[[], None]) -> None:
        self.client, self.loop, self._ended = client, loop, ended
        # The thread that has it may start kazoo, or say that it is over.
        self._ticket = [True]
        self._started = self._closing = False
        self._ident = 0
        #: The session, also while the connection is away; 0 without one.
        self.session = 0
        client.add_listener(self._note_session)
        #: Set when threads and sockets are gone.
        self.gone = Flag()

    def start(self) -> None:
        """Start the thread, unless that was done; if it is done twice, one of the two runs."""
        if not self._started:
            threading.Thread(target=self._run, name="zk_loop", daemon=True).start()
            self._started = True

    def _note_session(self, state: str) -> None:
        """Called in kazoo's loop, before any answer of a new session."""
        if state == KazooState.LOST:
            self.session = 0
        elif state == KazooState.CONNECTED and (client_id := self.client.client_id) is not None:
            self.session = client_id[0]

    def _takes_ticket(self) -> bool:
        try:
            self._ticket.pop()
        except IndexError:
            return False
        return True

    def _run(self) -> None:
        if not self._takes_ticket():
            return
        self._ident = threading.get_ident()
        try:
            self.loop.run(lambda: self._closing)
        except Exception as error:
            log.warning("the connection to ZooKeeper ended unexpectedly: %r", error)
        finally:
            self._clear_away()

    def _clear_away(self) -> None:
        """Let go of sockets and threads."""
        self.client.handler.stop()
        self.client.close()
        self.gone.set()
        self._ended()
        # The number of a thread that has ended may soon be another's.
        self._ident = self.client.handler.loop_thread = 0

    @property
    def over(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._closing or self.gone.is_set()

    @property
    def is_current(self) -> bool:
        """Whether the caller is the thread by which answers come: it must not wait for one."""
        return threading.get_ident() in (self._ident, self.client.handler.loop_thread)

    def request_close(self) -> None:
        """Let the session end, and the thread with it.  Nothing is waited for."""
        self._closing = True
        self.loop.request_close()
        if self._takes_ticket():
            self.gone.set()  # it was never started

    def wait(self, seconds: float) -> None:
        """Wait until it has gone, but not for ever, nor in a thread of its own."""
        if self.is_current or threading.current_thread() in self.client.handler.threads:
            return
        if not self.gone.wait(seconds):
            self.interrupt()
            self.gone.wait(MOMENT)

    def interrupt(self) -> None:
        """End the connection under the hands of kazoo's thread, which then ends as well."""
        if (connection := self.client.handler.connection) is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


# --- what kazoo is told --------------------------------------------------------------------


def new_client(settings: ZkSettings, handler: Handler) -> Any:
    """A kazoo client that goes on trying to connect, once it was started."""
    retry = KazooRetry(
        max_tries=-1,
        delay=FIRST_PAUSE,
        max_delay=LONGEST_PAUSE,
        sleep_func=handler.sleep_func,
    )
    return KazooClient(
        handler=handler,
        connection_retry=retry,
        logger=kazoo_log,
        **client_options(settings),
    )


class Secret(str):
    """A text that does not show itself: kazoo's log tells every request that it sends."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'"


def client_options(settings: ZkSettings) -> dict[str, Any]:
    """What kazoo is told; a password function is asked anew each time."""
    return {
        "hosts": settings.hosts,
        "timeout": settings.session_timeout,
        "auth_data": _credentials(settings),
        "sasl_options": None if settings.sasl is None else dict(settings.sasl),
        "use_ssl": settings.tls,
    }


def _credentials(settings: ZkSettings) -> list[tuple[str, Secret]]:
    given = [(scheme, Secret(credential)) for scheme, credential in settings.auth]
    if settings.password is None:
        return given
    password = asked(settings.password, settings.label)
    return [("digest", Secret(f"{settings.username}:{password}")), *given]
