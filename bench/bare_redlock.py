"""The limits of a lock over several servers: bare sockets and bare protocols that ask all of them.

Nothing here is safe to use: no lease is kept, no reply is lost, and no node may hang.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence

from .bare import FREE_STRING, LEASE, pack


def _owner() -> str:
    return os.urandom(8).hex()


def _take(name: str, owner: str) -> bytes:
    return pack("SET", name, owner, "NX", "PX", LEASE)


def _free(name: str, owner: str) -> bytes:
    return pack("EVAL", FREE_STRING, "1", name, owner)


class BareSockets:
    """Sends to all nodes, then reads what all have answered."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for port in ports]
        for each in self._sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        for each in self._sockets:
            each.close()

    def pair(self, name: str) -> None:
        owner = _owner()
        self._ask(_take(name, owner))
        self._ask(_free(name, owner))

    def _ask(self, message: bytes) -> None:
        for each in self._sockets:
            each.sendall(message)
        for each in self._sockets:
            each.recv(4096)


class BareProtocols:
    """The same on an event loop: one future for the answers of all nodes."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._nodes: list[asyncio.Transport] = []
        self._left, self._answered = 0, self._loop.create_future()

    async def open(self, ports: Sequence[int]) -> BareProtocols:
        for port in ports:
            transport, _ = await self._loop.create_connection(
                lambda: _Answers(self), "127.0.0.1", port
            )
            self._nodes.append(transport)
        return self

    def close(self) -> None:
        for each in self._nodes:
            each.close()

    def heard(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._answered.set_result(None)

    async def pair(self, name: str) -> None:
        owner = _owner()
        await self._ask(_take(name, owner))
        await self._ask(_free(name, owner))

    def _ask(self, message: bytes) -> asyncio.Future[None]:
        self._left, self._answered = len(self._nodes), self._loop.create_future()
        for each in self._nodes:
            each.write(message)
        return self._answered


class _Answers(asyncio.Protocol):
    def __init__(self, all_nodes: BareProtocols) -> None:
        self._all = all_nodes

    def data_received(self, data: bytes) -> None:
        self._all.heard()
