"""A fault proxy that knows ZooKeeper's frames: it counts requests, and loses a chosen one.

    with ZkProxy(server.port) as proxy:
        proxy.lose_reply("create2")
        client = interlock.connect(proxy.url("shop"))

Requests have the names of ZooKeeper's own protocol; the first on each connection is `connect`.
All that a `FaultProxy` can do works here too, one frame at a time; where it asks for a pattern
in bytes, `b"<delete>"` strikes the requests of that name.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import Self

from .faults import Fault, FaultProxy
from .pipes import End, Lane, Pair
from .talks import UPKEEP, Burst, Talk, Tally


class ZkProxy(FaultProxy):
    """Forwards a free loopback port to a ZooKeeper server, with faults on demand."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._talks: dict[Pair, Talk] = {}
        self._tally = Tally()
        #: Clients that came in a silence.
        self._parked: dict[End, asyncio.Task[bool]] = {}
        super().__init__(port, host)

    def __enter__(self) -> Self:
        return self

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "") -> str:
        return f"zk://{self.hosts}/{path.lstrip('/')}"

    # --- what was sent -------------------------------------------------------------------------

    def mark(self) -> None:
        """Count from here on."""
        self._inside(self._mark)

    @property
    def requests(self) -> list[str]:
        """The requests since the mark, by name, without what keeps a session alive."""
        return [name for name in self._names() if name not in UPKEEP]

    @property
    def pings(self) -> int:
        return self._names().count("ping")

    @property
    def connects(self) -> int:
        return self._names().count("connect")

    def round_trips(self) -> int:
        """How often since the mark a client waited for an answer before it sent more.

        Add a delay before you count: without one, an answer may be there before a client has
        sent the next of its requests, and then it looks as if it had waited.
        """
        return self._inside(lambda: self._tally.trips)

    # --- faults --------------------------------------------------------------------------------

    def lose_request(self, pattern: str | bytes, times: int = 1) -> None:
        """Throw away a request of this name and reset the client: it is never executed."""
        super().lose_request(_label(pattern), times)

    def lose_reply(self, pattern: str | bytes, times: int = 1) -> None:
        """Let a request of this name through, throw its reply away and reset the client."""
        super().lose_reply(_label(pattern), times)

    def silence(self, on: bool = True) -> None:
        """Move nothing, not even the end of a connection; afterwards all is delivered.

        Clients may connect in the silence, but the server hears only of those that are still
        there afterwards.
        """
        self.blackhole(on)

    # --- inside the thread of the network ------------------------------------------------------

    def _names(self) -> list[str]:
        return self._inside(lambda: [*self._tally.names])

    def _mark(self) -> None:
        self._tally = Tally()
        for talk in self._talks.values():
            talk.burst = Burst(-math.inf)

    def _cut(self) -> None:
        for client in self._parked:
            client.reset()
        super()._cut()

    async def _end(self) -> None:
        parked = [*self._parked.values()]
        await super()._end()
        await asyncio.gather(*parked)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = End(reader, writer)
        if self._refusing or self._passable.is_set() or await self._park(client):
            await super()._serve(reader, writer)
        else:
            client.close()

    async def _park(self, client: End) -> bool:
        self._parked[client] = asyncio.create_task(self._outlasts_silence(client))
        try:
            return await self._parked[client]
        finally:
            del self._parked[client]

    async def _outlasts_silence(self, client: End) -> bool:
        """Whether a client is still there when the network is passable again."""
        said = bytearray()
        leaving = asyncio.create_task(_read_all(client, said))
        passable = asyncio.create_task(self._passable.wait())
        await asyncio.wait([leaving, passable], return_when=asyncio.FIRST_COMPLETED)
        gone = leaving.done()
        for task in (leaving, passable):
            task.cancel()
        await asyncio.gather(leaving, passable, return_exceptions=True)
        # A client says nothing after its greeting until it is answered: this is all of it.
        if not gone:
            client.reader.feed_data(bytes(said))
        return not gone

    async def _forward(self, pair: Pair) -> None:
        self._talks[pair] = Talk()
        try:
            await super()._forward(pair)
        finally:
            del self._talks[pair]

    async def _carry_up(self, pair: Pair) -> None:
        async with Lane(self._passable, pair.server) as lane:
            while frame := await _next_frame(pair.client):
                fault = self._noted(pair, frame)
                if fault.drop or fault.reset:
                    pair.client.reset()
                if fault.drop:
                    return
                lane.put(frame, fault.late or self._up)
            await self._passable.wait()

    def _noted(self, pair: Pair, frame: bytes) -> Fault:
        talk = self._talks[pair]
        asked = talk.ask(frame)
        self._tally.add(talk, asked, self._loop.time())
        labelled = _label(asked.name) + frame
        pair.said += labelled
        fault = self._struck(labelled) or Fault(b"", times=0)
        asked.keep = fault.keep
        return fault

    async def _carry_down(self, pair: Pair) -> None:
        keep = None
        async with Lane(self._passable, pair.client, lambda: self._dripping) as lane:
            while keep is None and (frame := await _next_frame(pair.server)):
                asked = self._talks[pair].answer(frame, self._loop.time() + self._down)
                keep = None if asked is None else asked.keep
                lane.put(frame[:keep], self._down)
            await self._passable.wait()
        if keep == 0:
            pair.client.reset()


def _label(pattern: str | bytes) -> bytes:
    """What stands before every frame of a name, where faults look for their pattern."""
    return pattern if isinstance(pattern, bytes) else f"<{pattern}>".encode()


async def _next_frame(end: End) -> bytes:
    """A frame, with its length before it; nothing when the connection has ended."""
    with suppress(OSError, asyncio.IncompleteReadError):
        head = await end.reader.readexactly(4)
        return head + await end.reader.readexactly(int.from_bytes(head))
    return b""


async def _read_all(end: End, into: bytearray) -> None:
    while data := await end.read():
        into += data
