"""Looking at a Redis server from outside, while locks are used on it."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import redis

from interlock.backends.redis.scripts import script


def raw(port: int, **options: Any) -> Any:
    """A plain redis-py client that speaks text."""
    return redis.Redis(port=port, decode_responses=True, **options)


def sha(name: str) -> bytes:
    """What a request that runs a script contains."""
    return script(name).sha.encode()


#: What may stay behind when nobody holds or waits: see docs/backends/redis.md.
LASTING = re.compile(r"interlock:tokens(:|$)|interlock:client:")


def litter(client: Any) -> set[str]:
    """Every key that should not be there once all is quiet."""
    return {key for key in client.keys("*") if not LASTING.match(key)}


def tombs(client: Any) -> set[str]:
    """The tombstones of withdrawn owners."""
    return set(client.keys("interlock:tomb:*"))


@dataclass(frozen=True)
class Seen:
    """A command that the server executed."""

    words: tuple[str, ...]
    #: Sent by a client, not called by a script.
    direct: bool
    client: str

    @property
    def verb(self) -> str:
        return self.words[0].upper()


class Monitor:
    """Records every command that a server executes, in order."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._seen: list[Seen] = []

    def __enter__(self) -> Monitor:
        self._client, self._marker = raw(self._port, socket_timeout=10), raw(self._port)
        self._marker.ping()  # its connection is open before the record begins
        self._monitor = self._client.monitor().__enter__()
        return self

    def __exit__(self, *exit: object) -> None:
        self._monitor.__exit__()
        self._client.close()
        self._marker.close()

    def commands(self) -> list[Seen]:
        """Everything executed up to now."""
        mark = f"mark-{uuid.uuid4()}"
        self._marker.echo(mark)
        while mark not in (seen := _seen(self._monitor.next_command())).words:
            self._seen.append(seen)
        return list(self._seen)

    def sent(self) -> list[Seen]:
        """What clients sent, without what the scripts did."""
        return [seen for seen in self.commands() if seen.direct]


def _seen(command: dict[str, Any]) -> Seen:
    words = tuple(command["command"].split(" "))
    client = f"{command['client_address']}:{command['client_port']}"
    return Seen(words, command["client_type"] != "lua", client)


@contextlib.contextmanager
def messages(client: Any, *patterns: str) -> Iterator[Callable[[], list[tuple[str, str]]]]:
    """Record what is published on channels that match, as (channel, payload)."""
    with client.pubsub() as subscriber:
        subscriber.psubscribe(*patterns)
        while subscriber.get_message(timeout=5)["type"] != "psubscribe":
            pass
        heard: list[tuple[str, str]] = []

        def collect() -> list[tuple[str, str]]:
            while (message := subscriber.get_message(timeout=0.05)) is not None:
                if message["type"] == "pmessage":
                    heard.append((message["channel"], message["data"]))
            return heard

        yield collect
