"""Runs one job in the main thread: `python -m … URL threads|tasks`; says when the job begins and
ends."""

from __future__ import annotations

import asyncio
import sys
import time

import interlock
from interlock import aio

#: Seconds that the job takes.
WORK = 0.5


def say(word: str) -> None:
    print(word, flush=True)  # noqa: T201


def in_threads(url: str) -> None:
    with interlock.connect(url) as client:

        @client.every("100ms", name="work")
        def work() -> None:
            say("begin")
            time.sleep(WORK)
            say("end")

        client.run_jobs()
    say("over")


async def in_tasks(url: str) -> None:
    async with aio.connect(url) as client:

        @client.every("100ms", name="work")
        async def work() -> None:
            say("begin")
            await asyncio.sleep(WORK)
            say("end")

        await client.run_jobs()
    say("over")


if sys.argv[2] == "threads":
    in_threads(sys.argv[1])
else:
    asyncio.run(in_tasks(sys.argv[1]))
