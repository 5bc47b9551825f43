"""Ends while it holds locks, in one of several ways."""

from __future__ import annotations

import asyncio
import sys
import threading
import time

import interlock
from interlock import aio

forgotten: list[object] = []


def normally(client: interlock.Client) -> None:
    forgotten.append(client.lock("claim").acquire())


def by_exit(client: interlock.Client) -> None:
    normally(client)
    sys.exit(3)


def by_error(client: interlock.Client) -> None:
    normally(client)
    raise ZeroDivisionError


def inside_a_block(client: interlock.Client) -> None:
    with client.lock("claim"):
        sys.exit(3)


def with_many(client: interlock.Client) -> None:
    normally(client)
    for number in range(200):
        client.lock(f"claim:{number}").acquire()


def with_a_daemon_that_waits(client: interlock.Client) -> None:
    normally(client)
    threading.Thread(target=client.lock("claim").acquire, daemon=True).start()
    time.sleep(0.1)


def with_a_daemon_that_waits_elsewhere(client: interlock.Client) -> None:
    normally(client)
    other = interlock.connect(sys.argv[1])
    threading.Thread(target=other.lock("claim").acquire, daemon=True).start()
    time.sleep(0.1)


def with_a_daemon_that_holds(client: interlock.Client) -> None:
    held = threading.Event()

    def hold() -> None:
        with client.lock("claim"):
            held.set()
            time.sleep(60)

    threading.Thread(target=hold, daemon=True).start()
    held.wait()


def with_a_busy_daemon(client: interlock.Client) -> None:
    def use() -> None:
        while True:
            with client.lock("busy"):
                pass

    normally(client)
    threading.Thread(target=use, daemon=True).start()
    time.sleep(0.1)


def from_a_loop(client: interlock.Client) -> None:
    async def main() -> None:
        forgotten.append(await aio.connect(sys.argv[1]).lock("claim").acquire())

    asyncio.run(main())


def when_told(client: interlock.Client) -> None:
    normally(client)
    sys.stdout.write("held\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    globals()[sys.argv[2]](interlock.connect(sys.argv[1]))
