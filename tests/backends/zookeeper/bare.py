"""Plain kazoo, and plainer sockets, for a look at a ZooKeeper from outside."""

from __future__ import annotations

import queue
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient


@contextmanager
def bare(hosts: str, session: float = 10.0) -> Iterator[Any]:
    """A connected kazoo client that soon connects again; its requests are never repeated."""
    again = {"max_tries": -1, "delay": 0.05, "backoff": 1, "max_delay": 0.1}
    client = KazooClient(hosts, timeout=session, connection_retry=again)
    client.start(timeout=30)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def states_of(client: Any) -> queue.Queue[str]:
    """The states of a client's connection, as they come."""
    states: queue.Queue[str] = queue.Queue()
    client.add_listener(states.put)
    return states


class Greeting:
    """A bare connection that asks for a session, and then for nothing."""

    def __init__(self, port: int, session_ms: int = 10_000) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        body = struct.pack(">iqiqi16s?", 0, 0, session_ms, 0, 16, b"", False)
        self._socket.sendall(struct.pack(">i", len(body)) + body)

    def hear(self, within: float = 10.0) -> bytes:
        self._socket.settimeout(within)
        return self._socket.recv(4096)

    def session(self) -> tuple[int, str]:
        """How many milliseconds the session lasts, and its name in ZooKeeper's `cons`."""
        lasts_ms, number = struct.unpack_from(">iq", self.hear(), 8)
        return lasts_ms, f"sid=0x{number:x}"

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Greeting:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()
