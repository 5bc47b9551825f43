"""A socket that is being opened, step by step, and never blocks: its name is looked up, it is
connected, and TLS is agreed on."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ..url import RedisSettings
from .lookups import Lookup, readable_when_done
from .polled_sockets import begin_to_connect, connected, connecting_error, with_tls


class PolledOpening:
    """A socket on its way to be open."""

    #: The socket as it is by now, and for what it waits.
    sock: socket.socket | None = None

    def __init__(self, settings: RedisSettings, lookup: Lookup, at: float) -> None:
        self.awaits = select.POLLIN  # not before: Windows has none
        self._settings, self._lookup = settings, lookup
        self._addresses = lookup.known(at)
        self._step: Callable[[], bool] = self._connect if self._addresses else self._seek

    def go_on(self) -> bool:
        """Do what can be done now; True when it is open, OSError when it cannot be."""
        return self._step()

    def _seek(self) -> bool:
        outcome = self._lookup.begin()
        self.sock, self._step = readable_when_done(outcome), lambda: self._find(outcome)
        return False

    def _find(self, outcome: Future[list[Any]]) -> bool:
        if self.sock is not None:
            self.sock.close()
        self._addresses = list(outcome.result())  # others wait for the same
        return self._connect()

    def _connect(self) -> bool:
        """Begin to connect to the next address; OSError when there is none left."""
        self.sock, code = begin_to_connect(self._addresses)
        self.awaits, self._step = select.POLLOUT, self._go_on_connecting
        return code is not None and self._connected(self.sock, code)

    def _go_on_connecting(self) -> bool:
        assert self.sock is not None
        code = connected(self.sock)
        return code is not None and self._connected(self.sock, code)

    def _connected(self, sock: socket.socket, code: int) -> bool:
        """A socket has connected, or could not."""
        if code:
            sock.close()
            if not self._addresses:
                raise connecting_error(code)
            return self._connect()
        if self._settings.transport != "tls":
            return True
        self.sock = secured = with_tls(sock, self._settings)
        self._step = lambda: self._secure(secured)
        return self._secure(secured)

    def _secure(self, sock: ssl.SSLSocket) -> bool:
        """Go on with the handshake of TLS."""
        try:
            sock.do_handshake()
        except ssl.SSLWantReadError:
            self.awaits = select.POLLIN
        except ssl.SSLWantWriteError:
            self.awaits = select.POLLOUT
        else:
            return True
        return False
