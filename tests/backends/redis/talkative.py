"""A program that uses locks, fails in every way, and says all it knows.

Run by `test_secrets`: its arguments are a password and the ports of two servers, one that
asks for that password and one that does not understand AUTH and HELLO.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import redis

import interlock
from interlock import aio

CANARY, GUARDED, DEAF = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

#: Seconds that it waits for what cannot be reached.
TIMEOUT = 0.5

RIGHT = f"redis://:{CANARY}@127.0.0.1:{GUARDED}"

URLS = [
    RIGHT,
    f"redis://default:{CANARY}@127.0.0.1:{GUARDED}/3?client_name=loud",
    f"redis://:{CANARY}-wrong@127.0.0.1:{GUARDED}",
    f"redis://{CANARY}:{CANARY}@127.0.0.1:{GUARDED}?protocol=2",
    f"redis://:{CANARY}@127.0.0.1:{GUARDED}/99999",
    f"redis://:{CANARY}@127.0.0.1:1",
    f"redis://:{CANARY}@127.0.0.1:{DEAF}",
    f"redis://:{CANARY}@127.0.0.1:{DEAF}?protocol=2",
    f"redis://user:{CANARY}@127.0.0.1:{DEAF}",
    f"rediss://:{CANARY}@127.0.0.1:{GUARDED}?connect_timeout=1",
    f"unix://:{CANARY}@/nowhere/redis.sock",
    f"redis://:{CANARY}@127.0.0.1:{GUARDED}?timeout=nan",
    f"redis://user:12/{CANARY}@127.0.0.1",
]


def say(*things: Any) -> None:
    sys.stdout.write(" ".join(f"{thing!r} {thing}" for thing in things) + "\n")


def tell(error: BaseException) -> None:
    """Everything that a log or a bug report would hold of an error."""
    traceback.print_exception(error)
    say(error, error.args, vars(error), error.__cause__, error.__context__)
    if isinstance(error, interlock.InterlockError):
        say(pickle.loads(pickle.dumps(error)))


def loudly(action: Callable[[], Any]) -> None:
    try:
        action()
    except Exception as error:
        tell(error)


def say_client(client: Any) -> None:
    say(
        client,
        client._session.backend,
        client._session.link,
        client._session.keeper,
        client._session.backend.label,
    )


def use_threads(url: Any) -> None:
    with interlock.connect(url) as client:
        say_client(client)
        with client.lock("k", lease=0.3, timeout=TIMEOUT) as hold, client.mutex("m"):
            say(hold, client.lock("k"), hold._lease.grant)
            other = threading.Thread(target=loudly, args=(lambda: give_up(client),))
            other.start()
            other.join()
            lose(hold)


def give_up(client: Any) -> None:
    client.lock("k").acquire(timeout=0.05)


def lose(hold: Any) -> None:
    """Let an operator delete the lock, and wait for the news."""
    lost = threading.Event()
    hold.on_lost(lambda _: lost.set())
    with redis.Redis(port=GUARDED, password=CANARY) as operator:
        for db in (0, 3):
            operator.select(db)
            operator.delete("k")
    lost.wait(2)


async def use_tasks(url: Any) -> None:
    async with aio.connect(url) as client:
        say_client(client)
        async with client.lock("k", lease=0.3, timeout=TIMEOUT) as hold:
            say(hold, client.lock("k"), hold._lease.grant)
            await asyncio.to_thread(lose, hold)


def main() -> None:
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    for url in URLS:
        loudly(lambda url=url: use_threads(url))  # type: ignore[misc]
        loudly(lambda url=url: asyncio.run(use_tasks(url), debug=True))  # type: ignore[misc]
    loudly(lambda: use_threads(redis.Redis(port=GUARDED, password=CANARY)))
    loudly(lambda: interlock.connect(RIGHT, pasword=CANARY))  # type: ignore[arg-type]
    sys.stdout.write("the end\n")


main()
