"""Counts in a file, under a lock: by threads of two clients, or by tasks."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path

import interlock
from interlock import aio


def count(counter: Path) -> None:
    """Add one, in a way that goes wrong whenever two do it at once."""
    number = int(counter.read_text())
    time.sleep(0)
    counter.write_text(str(number + 1))


def by_threads(url: str, counter: Path, times: int) -> None:
    clients = [interlock.connect(url) for _ in range(2)]
    threads = [
        threading.Thread(target=count_often, args=(client, counter, times // 2))
        for client in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()


def count_often(client: interlock.Client, counter: Path, times: int) -> None:
    for _ in range(times):
        with client.lock("counter", timeout=60):
            count(counter)


async def by_tasks(url: str, counter: Path, times: int) -> None:
    async with aio.connect(url) as client, asyncio.TaskGroup() as tasks:
        for _ in range(times):
            tasks.create_task(count_once(client, counter))


async def count_once(client: aio.Client, counter: Path) -> None:
    async with client.lock("counter", timeout=60):
        count(counter)


def main(world: str, url: str, counter: str, times: str) -> None:
    if world == "threads":
        by_threads(url, Path(counter), int(times))
    else:
        asyncio.run(by_tasks(url, Path(counter), int(times)))
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
