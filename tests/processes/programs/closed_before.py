"""Forks when its clients, of both worlds, were closed; the child uses them all the same."""

from __future__ import annotations

import asyncio
import os
import sys

import interlock
from interlock import aio


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def use_and_close(client: aio.Client) -> None:
    async with client, client.lock("claim"):
        pass


async def take(client: aio.Client) -> None:
    await client.lock("claim", timeout=1).acquire()


def try_both(client: interlock.Client, tasks: aio.Client) -> None:
    try:
        client.lock("claim", timeout=1).acquire()
        say("taken by a thread")
    except interlock.StoreUnavailable as refusal:
        say("thread:", refusal)
    try:
        asyncio.run(take(tasks))
        say("taken by a task")
    except interlock.StoreUnavailable as refusal:
        say("task:", refusal)


async def make(url: str) -> aio.Client:
    client = aio.connect(url)
    await use_and_close(client)
    return client


def main(url: str) -> None:
    client, tasks = interlock.connect(url), asyncio.run(make(url))
    with client, client.lock("claim"):
        pass
    if (child := os.fork()) == 0:
        try_both(client, tasks)
        client.close()
    else:
        say("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
