"""How a connection is opened, by kazoo's threads but in our way.

Kazoo goes on trying whatever happens, and keeps to itself why it failed.  A certificate that is
not trusted will not be trusted in a moment, so the handler remembers that, and says it.
Everything here is kazoo's public interface of handlers (`kazoo.interfaces.IHandler`).
"""

from __future__ import annotations

import atexit

# Python imports it when an address is first looked up, which is done in a thread: a child that
# is forked in this moment would wait for that import for ever.
import encodings.idna  # noqa: F401
import errno
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import Callback

from ....errors import StoreMisconfigured
from ..errors import cause_of, lasting_cause
from ..url import ZkSettings
from .sockets import Flag, GreetedSocket, MessageStream, WakeSocket, wait_ready

#: Kazoo's own loop tells it since 2.11, and the batching one always.
NO_HOSTNAME = "TLS needs kazoo 2.11 or newer, which says what host a certificate has to name"


class Handler(SequentialThreadingHandler):  # type: ignore[misc]
    """Kazoo's threads; in its loop `trying` is called before each attempt to connect, and `failed`
    when there is a refusal to be told."""

    #: The batching loop says so: one byte wakes it for many requests.
    batching = False
    #: Whether the loop gets no thread, because its caller runs it.
    leaves_loop = False
    loop: Callable[[], None]
    stream: MessageStream
    #: Told how a greeting was answered, by kazoo's own loop, which keeps that to itself.
    on_greeting: Callable[[float, float], None] | None = None

    def __init__(
        self,
        settings: ZkSettings,
        failed: Callable[[], None],
        trying: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self._settings, self._failed, self._trying = settings, failed, trying
        self._refused: set[Any] = set()
        #: Why no connection can be made, unless one can.
        self.refusal: StoreMisconfigured | None = None
        self._troubles: dict[str, str] = {}
        #: The threads that kazoo has started, and the one in which its loop runs.
        self.threads: list[threading.Thread] = []
        self.loop_thread = 0
        #: Set when a thread of kazoo's has ended.
        self.thread_ended = Flag()
        #: The connection that was opened last, and what wakes the loop.
        self.connection: socket.socket | None = None
        #: The host that is tried, as it was given, if the loop tells.
        self.hostname = ""
        self.waker: WakeSocket | None = None
        self.wake_reader: socket.socket | None = None

    @property
    def trouble(self) -> str:
        """What is the matter with each server that could not be reached; empty if nothing is."""
        return "; ".join(f"{server} {why}" for server, why in self._troubles.items() if why)

    def unknown(self, host: str, port: int) -> None:
        """There is no such host, which kazoo finds out by itself."""
        self._note(host, port, "is not the name of a host")

    def _note(self, host: str, port: int, why: str) -> None:
        server = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._troubles = {**self._troubles, server: why}  # others may be reading the old one

    # --- threads ------------------------------------------------------------------------

    def start(self) -> None:
        """Threads that end with the program need not be ended before it: that would keep us."""
        super().start()
        atexit.unregister(self.stop)

    def spawn(self, func: Callable[..., None], *facts: Any, **options: Any) -> threading.Thread:
        """Start a thread; a loop that has one only leaves here what to run in it."""
        if self.leaves_loop and func.__name__ == "zk_loop":
            self.loop = func
            return threading.current_thread()

        def run() -> None:
            try:
                func(*facts, **options)
            finally:
                self._end_thread()

        thread: threading.Thread = super().spawn(run)
        self.threads.append(thread)
        return thread

    def _end_thread(self) -> None:
        """A thread ends, and its number may soon be another's."""
        if self.loop_thread == threading.get_ident():
            self.loop_thread = 0
        self.thread_ended.set()

    def tell(self, function: Callable[..., None], *facts: Any) -> None:
        """Call something that may have to wait, in a thread that may."""
        super().dispatch_callback(Callback("tell", function, facts))

    def dispatch_callback(self, callback: Any) -> None:
        """Watches are heard where they arrive, and so before the answers that come after them;
        they are all ours, and none blocks."""
        callback.func(*callback.args)

    def event_object(self) -> Any:
        return Flag()

    # --- sockets ------------------------------------------------------------------------

    def create_socket_pair(self) -> Any:
        reader, writer = super().create_socket_pair()
        if not self.batching:
            return reader, writer
        self.wake_reader, self.waker = reader, WakeSocket(writer)
        return reader, self.waker

    def select(self, *sockets: Any, **timeout: Any) -> Any:
        return wait_ready(*sockets, **timeout)

    def create_connection(self, address: Any, hostname: str = "", **options: Any) -> Any:
        """Open a connection; kazoo's name and arguments, of which the rest is in our settings."""
        self.loop_thread = threading.get_ident()
        self._trying()
        hostname = hostname or self.hostname
        server = hostname or address[0], address[1]
        try:
            self.connection = self._open(address, hostname)
        except OSError as error:
            self._note(*server, cause_of(error))
            raise
        self._note(*server, "")
        self.refusal = None
        self._refused.clear()
        if self.on_greeting is not None:
            return GreetedSocket(self.connection, self.on_greeting)
        self.stream = MessageStream(self.connection)
        return self.connection

    def _open(self, address: Any, hostname: str) -> socket.socket:
        if self._settings.tls and not hostname:
            self._tell_refusal(NO_HOSTNAME)
            raise ConnectionAbortedError(errno.ECONNABORTED, NO_HOSTNAME)
        link = socket.create_connection(address, self._settings.connect_timeout)
        try:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._settings.tls:
                link = self._context().wrap_socket(link, server_hostname=hostname)
        except OSError as error:
            link.close()
            self._refuse(address, error)
            raise
        return link

    def _context(self) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.create_default_context(cafile=settings.ca_certs)
        if settings.insecure_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if settings.certfile:
            context.load_cert_chain(settings.certfile, settings.keyfile)
        return context

    def _refuse(self, address: Any, error: OSError) -> None:
        """Remember what asking again will not change, once every server was tried."""
        why = lasting_cause(error, self._settings.label)
        if why is not None and address in self._refused:
            self._tell_refusal(why)
        self._refused.add(address)

    def _tell_refusal(self, why: str) -> None:
        self.refusal = StoreMisconfigured(why, self._settings.label)
        self._failed()
