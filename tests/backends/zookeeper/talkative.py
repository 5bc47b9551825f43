"""A program that uses locks, fails in every way, and says all it knows.

Run by `test_zk_secrets`: its arguments are a password, and the address of a server.
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

import interlock
from interlock import aio

CANARY, HOSTS = sys.argv[1], sys.argv[2]

#: Seconds that it waits for what cannot be reached.
TIMEOUT = 3.0

RIGHT = f"zk://user:{CANARY}@{HOSTS}/guarded"

ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    (RIGHT, {}),
    (f"zk://user:{CANARY}-wrong@{HOSTS}/guarded", {}),
    (f"zk://{HOSTS}/guarded", {"username": "user", "password": lambda: CANARY}),
    (f"zk://{HOSTS}/guarded", {"username": "user", "password": lambda: {CANARY: 1}[""]}),
    (f"zk://{HOSTS}/guarded", {"auth": [("digest", f"user:{CANARY}")]}),
    (f"zk://{HOSTS}/", {"auth": [("nosuch", CANARY)]}),
    (f"zk://user:{CANARY}@127.0.0.1:1/?connect_timeout=200ms", {}),
    (f"zks://user:{CANARY}@{HOSTS}/?connect_timeout=200ms", {}),
    (f"zk://user:{CANARY}@{HOSTS}/?session_timeout=nan", {}),
    (f"zk://user:12/{CANARY}@{HOSTS}", {}),
    (f"zk://:{CANARY}@{HOSTS}/", {}),
    (f"zk://{HOSTS}/", {"sasl": {"mechanism": "PLAIN", "password": CANARY}}),
    (RIGHT, {"pasword": CANARY}),
]


def say(*things: Any) -> None:
    sys.stdout.write(" ".join(f"{thing!r} {thing}" for thing in things) + "\n")


def loudly(action: Callable[[], Any]) -> None:
    """Do something, and tell everything that a log or a bug report would hold of its error."""
    try:
        action()
    except Exception as error:
        traceback.print_exception(error)
        say(error, error.args, vars(error), error.__cause__, error.__context__)
        if isinstance(error, interlock.InterlockError):
            say(pickle.loads(pickle.dumps(error)))


def say_all(client: Any, hold: Any) -> None:
    say(
        client,
        client._session.backend,
        client._session.link,
        client._session.keeper,
        client._session.backend.label,
    )
    say(
        vars(client._session.backend),
        vars(client._session.link),
        vars(client._session.link._transport),
    )
    say(
        vars(client._session.link._transport._client),
        vars(client._session.link._transport._client._connection),
    )
    say(hold, hold._lease.grant, client.lock("k"))


def use_threads(url: str, options: dict[str, Any]) -> None:
    client = interlock.connect(url, **options)
    with client, client.lock("k", lease=2, timeout=TIMEOUT) as hold:
        say_all(client, hold)
        other = threading.Thread(target=loudly, args=(lambda: give_up(client),))
        other.start()
        other.join()
        lose(hold)


def give_up(client: Any) -> None:
    client.lock("k").acquire(timeout=0.05)


def lose(hold: Any) -> None:
    """Let an operator end the hold, and wait for the news."""
    lost = threading.Event()
    hold.on_lost(lambda _: lost.set())
    with interlock.connect(RIGHT) as operator:
        operator.revoke("k", reason="stuck")
    assert lost.wait(20)


async def use_tasks(url: str, options: dict[str, Any]) -> None:
    client = aio.connect(url, **options)
    async with client, client.lock("k", timeout=TIMEOUT) as hold:
        say_all(client, hold)


def main() -> None:
    logging.basicConfig(level=1, stream=sys.stderr)
    for url, options in ATTEMPTS:
        loudly(lambda url=url, options=options: use_threads(url, options))  # type: ignore[misc]
        loudly(
            lambda url=url, options=options: asyncio.run(  # type: ignore[misc]
                use_tasks(url, options), debug=True
            )
        )
    sys.stdout.write("the end\n")


main()
