"""How a connection is opened, by kazoo's threads but in our way, and how a session ends.

Kazoo goes on trying whatever happens, and keeps to itself why it failed.  A certificate that is
not trusted will not be trusted in a moment, so that is remembered here, and said.
"""

from __future__ import annotations

# Python imports it when an address is first looked up, which is done in a thread: a child that
# is forked in this moment would wait for that import for ever.
import encodings.idna  # noqa: F401
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import CloseInstance

from ...errors import StoreMisconfigured
from .pump import Bell, ready
from .settings import Settings

#: Seconds for which closing waits for the server's farewell.
FAREWELL = 1.0

#: Seconds in which kazoo's thread notices that there is nobody to talk to any more.
MOMENT = 0.2


class Door(SequentialThreadingHandler):  # type: ignore[misc]
    """Kazoo's threads; `failed` is called in one of them when there is a refusal to be told."""

    def __init__(self, settings: Settings, failed: Callable[[], None]) -> None:
        super().__init__()
        self._settings, self._failed = settings, failed
        self._refused: set[Any] = set()
        #: Why no connection can be made, unless one can.
        self.refusal: StoreMisconfigured | None = None
        self._troubles: dict[str, str] = {}

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

    def create_socket_pair(self) -> Any:
        ear, mouth = super().create_socket_pair()
        return ear, Bell(mouth)

    def dispatch_callback(self, callback: Any) -> None:
        """Watches are heard where they arrive, and so before the answers that come after them;
        they are all ours, and none blocks."""
        callback.func(*callback.args)

    def select(self, *sockets: Any, **timeout: Any) -> Any:
        return ready(*sockets, **timeout)

    def create_connection(self, address: Any, hostname: str = "", **options: Any) -> Any:
        """Open a connection; kazoo's name and arguments, of which the rest is in our settings."""
        server = hostname or address[0], address[1]
        try:
            link = self._open(address, hostname)
        except OSError as error:
            self._note(*server, _why(error))
            raise
        self._note(*server, "")
        self.refusal = None
        self._refused.clear()
        return link

    def _open(self, address: Any, hostname: str) -> socket.socket:
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
        why = _lasting(error, self._settings.label)
        if why is not None and address in self._refused:
            self.refusal = StoreMisconfigured(why, self._settings.label)
            self._failed()
        self._refused.add(address)


def _lasting(error: OSError, label: str) -> str | None:
    """What to say of an error that will not go away by itself."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {label} is not trusted: {error.verify_message}"
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"a file of certificates for {label} cannot be read: {error.strerror}"
    return None


def _why(error: OSError) -> str:
    """What to say of a server that could not be reached."""
    if isinstance(error, ConnectionRefusedError):
        return "refused the connection"
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    if isinstance(error, ssl.SSLError):
        return f"does not agree on TLS ({error.reason or 'no reason given'})"
    return f"could not be reached ({error.strerror or type(error).__name__})"


class Parting:
    """A client that has said farewell."""

    def __init__(self, client: Any, listener: Callable[[str], None]) -> None:
        self._client = client
        client.remove_listener(listener)
        client._stopped.set()
        client._queue.append((CloseInstance, None))
        client._connection._write_sock.send(b"\0")
        #: Set when the server has heard us, or cannot.
        self.heard: threading.Event = client._connection.connection_stopped

    def wait(self, seconds: float) -> None:
        """Wait until the server has heard us, but not for ever, and clear away."""
        if not self.heard.wait(seconds):
            self.break_off()
            self.heard.wait(MOMENT)
        self.clear_away()

    def break_off(self) -> None:
        """End the connection under the hands of kazoo's thread, which then ends as well."""
        if (link := self._client._connection._socket) is not None:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def clear_away(self) -> None:
        """Let go of sockets and threads."""
        self._client.handler.stop()
        if self.heard.is_set():
            self._client.close()
