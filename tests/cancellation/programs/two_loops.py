"""One client on two event loops at once, again and again; `-X dev` tells whoever touches a loop
that is not its own.

    python -X dev two_loops.py URL
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time

from interlock import UsageError, aio
from interlock.events import Event, Parked

#: Longer than anything here takes, and than this program may.
LONG = 60.0

#: Seconds in which a refusal comes.
AT_ONCE = 1.0


#: The owners that wait, or did.
parked: set[str] = set()


def connect() -> aio.Client:
    def hear(event: Event) -> None:
        if isinstance(event, Parked):
            parked.add(event.owner)

    return aio.connect(sys.argv[1], observer=hear)


async def use(client: aio.Client) -> None:
    async with client.lock("claim", timeout=LONG):
        await asyncio.sleep(0)


async def intrude(client: aio.Client, refusals: list[float]) -> None:
    """Ask for what is held, and whether it is, as a loop that has no business here."""
    for ask in (lambda: use(client), client.lock("claim").locked, client.close):
        began = time.monotonic()
        try:
            await ask()
        except UsageError:
            refusals.append(time.monotonic() - began)


async def live(client: aio.Client) -> list[float]:
    """Hold, let tasks and another client wait, be intruded upon, and hand over as ever."""
    refusals: list[float] = []
    parked.clear()
    async with connect() as other, asyncio.timeout(LONG):
        async with client.lock("claim"):
            waiting = [asyncio.create_task(use(each)) for each in (client, client, other)]
            while len(parked) < len(waiting):  # noqa: ASYNC110 - of an observer
                await asyncio.sleep(0.001)
            await asyncio.to_thread(asyncio.run, intrude(client, refusals))
        await asyncio.gather(*waiting)
    return refusals


def both(client: aio.Client) -> None:
    """Two threads, each with a loop, follow a loop that has ended."""
    barrier, refused = threading.Barrier(2), threading.Event()

    async def race() -> None:
        barrier.wait(LONG)
        try:
            async with client.lock("claim", timeout=LONG):
                await asyncio.to_thread(refused.wait, LONG)
        except UsageError:
            refused.set()

    racers = [threading.Thread(target=asyncio.run, args=(race(),)) for _ in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert refused.is_set()


def main() -> None:
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # a slow machine is no news
    client = connect()
    for _ in range(3):
        refusals = asyncio.run(live(client))
        assert len(refusals) == 3, refusals
        assert max(refusals) < AT_ONCE, refusals
        both(client)
    asyncio.run(client.close())
    sys.stdout.write("the end\n")


main()
