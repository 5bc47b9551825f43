"""What moves the bytes of a fault proxy: two ends, and a lane in each direction."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import NamedTuple

#: Closing a socket with this set sends a reset in place of a polite end.
RESET = struct.pack("ii", 1, 0)


class End(NamedTuple):
    """One side of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read(self) -> bytes:
        """What came next; nothing when the connection has ended."""
        with contextlib.suppress(OSError):
            return await self.reader.read(65536)
        return b""

    async def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.writer.write(data)
            await self.writer.drain()

    def finish(self) -> None:
        """Say politely that nothing more will come."""
        with contextlib.suppress(OSError, RuntimeError):
            if not self.writer.is_closing():
                self.writer.write_eof()

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """End the connection as a crash would."""
        sock: socket.socket | None = self.writer.get_extra_info("socket")
        if sock is not None and not self.writer.is_closing():
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.writer.transport.abort()


class Pair:
    """A client's connection, and the one that stands for it at the server."""

    def __init__(self, client: End, server: End) -> None:
        self.client, self.server = client, server
        #: Everything that the client has sent.
        self.said = bytearray()
        #: How many bytes of the next reply pass before the connection ends.
        self.keep: int | None = None
        self.tasks: list[asyncio.Task[None]] = []

    def stop(self) -> None:
        for task in self.tasks:
            task.cancel()

    def break_off(self) -> None:
        """Reset the client.  The server still executes whatever it was sent."""
        self.client.reset()
        self.server.close()


class Lane:
    """One direction of a connection: what is put in comes out later, in order."""

    def __init__(
        self, passable: asyncio.Event, end: End, drip: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._passable, self._end, self._drip = passable, end, drip
        self._chunks: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

    async def __aenter__(self) -> Lane:
        self._task = asyncio.create_task(self._deliver())
        return self

    async def __aexit__(self, kind: object, *exit: object) -> None:
        """Deliver the rest; but a connection that is buried or cut delivers nothing more."""
        self._chunks.put_nowait(None)
        try:
            if kind is None:
                await self._task
                self._end.finish()
        finally:
            self._task.cancel()

    def put(self, data: bytes, delay: float) -> None:
        self._chunks.put_nowait((asyncio.get_running_loop().time() + delay, data))

    async def _deliver(self) -> None:
        loop = asyncio.get_running_loop()
        while (chunk := await self._chunks.get()) is not None:
            due, data = chunk
            await asyncio.sleep(due - loop.time())
            await self._passable.wait()
            await self._send(data)

    async def _send(self, data: bytes) -> None:
        """Send at once, or byte by byte while the lane drips."""
        while data and (pause := self._drip()):
            await self._end.send(data[:1])
            data = data[1:]
            await asyncio.sleep(pause)
        if data:
            await self._end.send(data)
