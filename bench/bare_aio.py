"""The asyncio limits: a bare protocol, one command in flight or many."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Any

import hiredis

from .bare import SCRIPTS, free_hash, pack, take_hash
from .bare_kinds import BareCommands


class BareConnection(asyncio.Protocol):
    """Commands are flushed once a loop turn, replies come back in order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(notEnoughData=self)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._out: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def call(self, line: bytes) -> asyncio.Future[Any]:
        """Send at the end of this loop turn, together with everybody else's commands."""
        waiting = self._loop.create_future()
        self._waiting.append(waiting)
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(line)
        return waiting

    def call_now(self, line: bytes) -> asyncio.Future[Any]:
        """Send at once: the shortest way for a single task."""
        waiting = self._loop.create_future()
        self._waiting.append(waiting)
        self._transport.write(line)
        return waiting

    def _flush(self) -> None:
        self._transport.write(b"".join(self._out))
        self._out.clear()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not self:
            self._waiting.popleft().set_result(reply)

    def close(self) -> None:
        self._transport.close()


async def open_wire(port: int, more: tuple[str, ...] = ()) -> BareConnection:
    """A connection to a server that knows the scripts."""
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(BareConnection, "127.0.0.1", port)
    for text in (*SCRIPTS, *more):
        await wire.call(pack("SCRIPT", "LOAD", text))
    return wire


class RawHash:
    """A reentrant hash on a wire; an asynchronous context manager."""

    def __init__(
        self, wire: BareConnection, name: str, alone: bool = False, owner: str = "bare"
    ) -> None:
        self._call = wire.call_now if alone else wire.call
        self._take, self._free = take_hash(name, owner), free_hash(name, owner)

    async def __aenter__(self) -> None:
        await self._call(self._take)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._call(self._free)


class BareTurn:
    """Packed lines on a wire, each a round trip; an asynchronous context manager."""

    def __init__(self, wire: BareConnection, lines: BareCommands) -> None:
        self._call, self._lines = wire.call_now, lines

    async def rehearse(self) -> BareTurn:
        """One turn, to see that the server understands it: errors are fast, too."""
        for line in (*self._lines.before, *self._lines.take, *self._lines.free):
            reply = await self._call(line)
            if isinstance(reply, hiredis.HiredisError):
                raise RuntimeError(f"{line!r}: {reply!r}")
        return self

    async def __aenter__(self) -> None:
        for line in self._lines.take:
            await self._call(line)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for line in self._lines.free:
            await self._call(line)


class Queued:
    """A local queue in arrival order; only its head goes to the wire."""

    def __init__(self, inner: RawHash) -> None:
        self._inner = inner
        self._line: deque[asyncio.Future[None]] = deque()
        self._busy = False
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> None:
        if self._busy:
            turn: asyncio.Future[None] = self._loop.create_future()
            self._line.append(turn)
            await turn
        self._busy = True
        await self._inner.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)
        if self._line:
            self._line.popleft().set_result(None)
        else:
            self._busy = False
