"""A TCP proxy that misbehaves on demand: lost messages, delays, silence, cut connections.

It stands between a client and a real server, so that a test can ask "what if the answer is
lost right here?" and get the same fault in every run.  A fault that names a pattern strikes
the next requests that contain it; `fired` counts how often one did, so that a test can
prove that its fault happened.

    with FaultProxy(server.port) as proxy:
        proxy.lose_reply(b"EVALSHA")
        client = interlock.connect(f"redis://127.0.0.1:{proxy.port}")

The whole network of a proxy lives in one thread of its own; its methods may be called from
any other thread, and have taken effect when they return.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from .pipes import End, Lane, Pair

R = TypeVar("R")


@dataclass
class Fault:
    """What happens to the next requests that contain a pattern."""

    pattern: bytes
    times: int
    #: The request is thrown away; otherwise the server gets it.
    drop: bool = False
    #: How many bytes of the reply are let through before the connection ends.
    keep: int | None = None
    #: How much later the server gets the request, and whether the client hears of it.
    late: float = 0.0
    reset: bool = False


class FaultProxy:
    """Forwards a free loopback port to a server, with faults on demand."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._faults: list[Fault] = []
        self._pairs: list[Pair] = []
        #: Connections that died silently: open towards the client, and nobody there.
        self._graves: list[Pair] = []
        self._up = self._down = self._dripping = 0.0
        self._refusing = False
        #: How often a fault that names a pattern has struck.
        self.fired = 0
        #: How many connections have come.
        self.accepted = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server, self._passable = self._run(self._listen())
        self.port: int = self._server.sockets[0].getsockname()[1]

    # --- faults that strike a request ------------------------------------------------------

    def lose_request(self, pattern: bytes, times: int = 1) -> None:
        """Throw the request away and reset the client: it is never executed."""
        self._plan(Fault(pattern, times, drop=True))

    def lose_reply(self, pattern: bytes, times: int = 1) -> None:
        """Let the request through, throw its reply away and reset the client."""
        self._plan(Fault(pattern, times, keep=0))

    def cut_reply(self, pattern: bytes, keep: int = 2, times: int = 1) -> None:
        """End the connection after the first bytes of the reply."""
        self._plan(Fault(pattern, times, keep=keep))

    def hold_back(
        self, pattern: bytes, seconds: float, reset: bool = False, times: int = 1
    ) -> None:
        """Deliver the request late, even if the client has given up or gone by then.

        With `reset` the client is told at once that its connection has ended.
        """
        self._plan(Fault(pattern, times, late=seconds, reset=reset))

    def forget(self) -> None:
        """Drop every planned fault that has not struck yet."""
        self._inside(self._faults.clear)

    # --- faults of the whole network ---------------------------------------------------------

    def delay(self, up: float = 0.0, down: float = 0.0) -> None:
        """Deliver everything so many seconds later, in order."""
        self._up, self._down = up, down

    def drip(self, pause: float = 0.0) -> None:
        """Deliver replies byte by byte, so many seconds apart; 0 ends it, also within a reply
        whose next byte is due."""
        self._dripping = pause

    def blackhole(self, on: bool = True) -> None:
        """Move no bytes, and keep every connection open; afterwards all is delivered."""
        self._inside(self._passable.clear if on else self._passable.set)

    def refuse(self, on: bool = True) -> None:
        """Reset every new connection at once."""
        self._refusing = on

    def cut(self) -> None:
        """Reset every connection."""
        self._inside(self._cut)

    def half_open(self, pattern: bytes = b"") -> None:
        """Let connections die silently: the client's stay open, and new ones work.

        With a `pattern`, only those that have sent a request that contains it.
        """
        self._inside(lambda: self._bury(pattern))

    @property
    def connections(self) -> int:
        """How many connections are being forwarded."""
        return self._inside(lambda: len(self._pairs))

    # --- life ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Reset every connection and stop."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> FaultProxy:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()

    # --- inside the thread of the network ------------------------------------------------------

    def _run(self, steps: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(steps, self._loop).result(timeout=10)

    def _inside(self, function: Callable[[], R]) -> R:
        async def call() -> R:
            return function()

        return self._run(call())

    def _plan(self, fault: Fault) -> None:
        self._inside(lambda: self._faults.append(fault))

    async def _listen(self) -> tuple[asyncio.Server, asyncio.Event]:
        passable = asyncio.Event()
        passable.set()
        return await asyncio.start_server(self._serve, "127.0.0.1", 0), passable

    def _cut(self) -> None:
        for pair in [*self._pairs, *self._graves]:
            pair.stop()
            pair.client.reset()
            pair.server.reset()
        self._graves.clear()

    def _bury(self, pattern: bytes) -> None:
        for pair in [pair for pair in self._pairs if pattern in pair.said]:
            pair.stop()
            pair.server.reset()
            self._graves.append(pair)
            self._pairs.remove(pair)

    async def _end(self) -> None:
        self._server.close()
        tasks = [task for pair in self._pairs for task in pair.tasks]
        self._cut()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # let the transports close their sockets

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = End(reader, writer)
        self.accepted += 1
        if self._refusing:
            client.reset()
            return
        try:
            server = End(*await asyncio.open_connection(*self._target))
        except OSError:
            client.reset()
            return
        await self._forward(Pair(client, server))

    async def _forward(self, pair: Pair) -> None:
        self._pairs.append(pair)
        up = asyncio.create_task(self._carry_up(pair))
        down = asyncio.create_task(self._carry_down(pair))
        pair.tasks = [up, down]
        await asyncio.gather(up, down, return_exceptions=True)
        if pair in self._pairs:
            self._pairs.remove(pair)
            pair.client.close()
            pair.server.close()

    async def _carry_up(self, pair: Pair) -> None:
        async with Lane(self._passable, pair.server) as lane:
            while data := await pair.client.read():
                pair.said += data
                fault = self._struck(data)
                if fault is None:
                    lane.put(data, self._up)
                    continue
                if fault.drop:
                    pair.break_off()
                    return
                pair.keep = fault.keep
                if fault.reset:
                    pair.client.reset()
                lane.put(data, fault.late or self._up)

    async def _carry_down(self, pair: Pair) -> None:
        async with Lane(self._passable, pair.client, lambda: self._dripping) as lane:
            while data := await pair.server.read():
                if pair.keep is None:
                    lane.put(data, self._down)
                elif pair.keep:
                    lane.put(data[: pair.keep], self._down)
                    return
                else:
                    pair.break_off()
                    return

    def _struck(self, data: bytes) -> Fault | None:
        for fault in self._faults:
            if fault.pattern in data:
                fault.times -= 1
                self.fired += 1
                if fault.times == 0:
                    self._faults.remove(fault)
                return fault
        return None
