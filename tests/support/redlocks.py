"""Several Redis servers that know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Self

import redis

from interlock.backends.redis.redlock.locks import MARKER

from .servers import RedisServer


class RedlockServers:
    """Five servers, or as many as a test wants; `options` are those of each."""

    def __init__(self, count: int = 5, *options: str) -> None:
        self._stack = ExitStack()
        self.servers = [self._stack.enter_context(RedisServer(*options)) for _ in range(count)]
        self.clients: list[Any] = [
            self._stack.enter_context(redis.Redis(port=each.port)) for each in self.servers
        ]

    def __getitem__(self, number: int) -> RedisServer:
        return self.servers[number]

    def __iter__(self) -> Iterator[RedisServer]:
        return iter(self.servers)

    def url(self, query: str = "restart_guard=off", people: str = "") -> str:
        places = ",".join(f"127.0.0.1:{each.port}" for each in self.servers)
        return f"redlock://{people}{places}" + (f"?{query}" if query else "")

    def let_vote(self) -> None:
        """Spare them the wait of servers that have just started: they have granted nothing."""
        for client in self.clients:
            client.set(MARKER, client.info("server")["run_id"])

    def flush(self) -> None:
        for client in self.clients:
            client.flushall()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self._stack.close()
