"""Takes and gives back shares of names, and counts latches down, as its standard input says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import interlock


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(url: str) -> None:
    client = interlock.connect(url)
    holds: list[Any] = []
    commands: dict[str, Callable[..., object]] = {
        "read": lambda name: holds.append(client.rwlock(name).read().acquire()),
        "write": lambda name: holds.append(client.rwlock(name).write().acquire()),
        "permit": lambda name: holds.append(client.semaphore(name).acquire()),
        "permits": lambda name, count: client.semaphore(name).set_permits(int(count)),
        "downgrade": lambda: holds[0].downgrade(),
        "release": lambda: holds.pop(0).release(),
        "set": lambda name, count: client.latch(name).start(int(count)),
        "count": lambda name: client.latch(name).count_down(),
    }
    for line in sys.stdin:
        command, *arguments = line.split()
        commands[command](*arguments)
        say("done")


if __name__ == "__main__":
    main(sys.argv[1])
