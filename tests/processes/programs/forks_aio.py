"""Forks in a task that holds a lock; the child looks at it and goes."""

from __future__ import annotations

import asyncio
import os
import sys

from interlock import aio


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(url: str) -> None:
    async with aio.connect(url) as client, client.lock("claim", lease=5) as hold:
        child = os.fork()
        if child == 0:
            say("lost", hold.lost)
            os._exit(0)  # Python ends the inherited loop's life at a fork
        await asyncio.to_thread(os.waitpid, child, 0)
        say("parent", not hold.lost)
        await asyncio.to_thread(sys.stdin.readline)
    say("left")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
