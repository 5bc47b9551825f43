"""Does with Interlock what it reads.  Argument: the URL of a server."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import interlock
from interlock import aio

from .lines import obey

#: How a client is asked for what is not simply a method with a name and terms.
KINDS: dict[str, Callable[..., Any]] = {
    "read": lambda client, name, **terms: client.rwlock(name, **terms).read(),
    "write": lambda client, name, **terms: client.rwlock(name, **terms).write(),
    "multilock": lambda client, name, **terms: client.multilock(
        *(name + each for each in "abc"), **terms
    ),
}


def make(client: Any, kind: str, name: str, **terms: Any) -> Any:
    """Whatever can be taken."""
    if kind in KINDS:
        return KINDS[kind](client, name, **terms)
    return getattr(client, kind)(name, **terms)


class Peer:
    """Holds by their handles."""

    def __init__(self, url: str) -> None:
        self._url, self._client = url, interlock.connect(url)
        self._holds: dict[str, interlock.Hold] = {}

    def perform(self, command: dict[str, Any]) -> Any:
        return getattr(self, "do_" + command["verb"])(command)

    def do_acquire(self, command: dict[str, Any]) -> str:
        kind, name, terms = command["kind"], command["name"], command.get("terms", {})
        hold = make(self._client, kind, name, **terms).acquire()
        self._holds[command["handle"]] = hold
        return str(hold.owner)

    def do_release(self, command: dict[str, Any]) -> bool:
        self._holds[command["handle"]].release()
        return True

    def do_soak(self, command: dict[str, Any]) -> dict[str, int]:
        """How often each name was had; thread or task i wants the name i, in turn."""
        names = command["names"]
        places = [place % len(names) for place in range(command["threads"])]
        end = time.monotonic() + command["run_ms"] / 1000
        wishes = [Wish(command, place, end) for place in places]
        work = as_tasks if command["tasks"] else as_threads
        grants: Counter[str] = Counter()
        for place, had in zip(places, work(self._url, wishes), strict=True):
            grants[names[place]] += had
        return dict(grants)


class Wish:
    """A name that is wanted again and again, and what is counted under it."""

    def __init__(self, command: dict[str, Any], place: int, end: float) -> None:
        self._kind, self._name = command["kind"], command["names"][place]
        self._reads, self._end = bool(command["reads"]), end
        self.counter = Path(command["folder"]) / f"count-{place}"

    def locks(self, client: Any) -> tuple[Any, Any]:
        """What is to be had, and what to read under before, if anything."""
        reading = make(client, "read", self._name) if self._reads else None
        return make(client, self._kind, self._name), reading

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._end


def as_threads(url: str, wishes: list[Wish]) -> list[int]:
    with interlock.connect(url) as client, ThreadPoolExecutor(len(wishes)) as pool:
        return list(pool.map(lambda wish: work(client, wish), wishes))


def as_tasks(url: str, wishes: list[Wish]) -> list[int]:
    async def run() -> list[int]:
        async with aio.connect(url) as client:
            return await asyncio.gather(*(awork(client, wish) for wish in wishes))

    return asyncio.run(run())


def work(client: interlock.Client, wish: Wish) -> int:
    """Take it again and again, and count under it: two at a time lose one."""
    lock, reading = wish.locks(client)
    grants = 0
    while not wish.over:
        if reading is not None:
            with reading:
                value = read(wish.counter)
                time.sleep(0)
                unchanged(wish.counter, value)
        with lock:
            value = read(wish.counter)
            time.sleep(0)
            write(wish.counter, value + 1)
        grants += 1
    return grants


async def awork(client: aio.Client, wish: Wish) -> int:
    """The same as a task."""
    lock, reading = wish.locks(client)
    grants = 0
    while not wish.over:
        if reading is not None:
            async with reading:
                value = read(wish.counter)
                await asyncio.sleep(0)
                unchanged(wish.counter, value)
        async with lock:
            value = read(wish.counter)
            await asyncio.sleep(0)
            write(wish.counter, value + 1)
        grants += 1
    return grants


def read(counter: Path) -> int:
    """What was counted so far; an empty file is one that somebody writes."""
    return int(counter.read_text())


def write(counter: Path, value: int) -> None:
    counter.write_text(str(value))


def unchanged(counter: Path, value: int) -> None:
    """Whoever may read sees nothing change."""
    if read(counter) != value:
        raise RuntimeError("somebody wrote while we read")


if __name__ == "__main__":
    obey(Peer(sys.argv[1]).perform)
