"""Servers that do not speak Redis's protocol: from the first moment, or all of a sudden."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self

#: What a proxy says in place of what it should have passed on.
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"


class Server:
    """Accepts on a free loopback port, each connection in a thread of its own."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        #: How many connections there have been.
        self.accepted = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exit: object) -> None:
        for each in [self._listener, *self._open]:
            self.end(each)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                self.accepted += 1
                self._open.append(client)
                threading.Thread(target=self._guarded, args=(client,), daemon=True).start()

    def _guarded(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self.serve(client)
        self.end(client)

    def serve(self, client: socket.socket) -> None:
        raise NotImplementedError

    def end(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        sock.close()


class Impostor(Server):
    """Answers each question with the same bytes; or says them at once, unasked."""

    def __init__(self, answer: bytes, unasked: bool = False) -> None:
        super().__init__()
        self._answer, self._unasked = answer, unasked

    def serve(self, client: socket.socket) -> None:
        if self._unasked:
            client.sendall(self._answer)
        while client.recv(65536):
            if not self._unasked:
                client.sendall(self._answer)


class Turncoat(Server):
    """Passes everything on to a Redis server, and then, when told to, answers by itself."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._target, self.turned = port, False

    def serve(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._target)) as server:
            self._open.append(server)
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()
            while data := client.recv(65536):
                (client if self.turned else server).sendall(BAD_GATEWAY if self.turned else data)

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(BAD_GATEWAY if self.turned else data)
        self.end(client)
