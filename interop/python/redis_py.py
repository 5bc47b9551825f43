"""Does with redis-py's own Lock what it reads.  Argument: the port of a server."""

from __future__ import annotations

import sys
from typing import Any

import redis
from redis.lock import Lock

from .lines import obey


class Peer:
    """Locks by their handles."""

    def __init__(self, port: int) -> None:
        self._client = redis.Redis(port=port)
        self._locks: dict[str, Lock] = {}

    def perform(self, command: dict[str, Any]) -> Any:
        return getattr(self, "do_" + command["verb"])(command)

    def do_lock(self, command: dict[str, Any]) -> bool:
        pause = command["delay_ms"] / 1000
        lock = self._client.lock(
            command["name"], command["expiry_ms"] / 1000, pause, thread_local=False
        )
        if not lock.acquire(blocking_timeout=(command["tries"] - 1) * pause):
            raise TimeoutError("it is taken")
        self._locks[command["handle"]] = lock
        return True

    def do_unlock(self, command: dict[str, Any]) -> bool:
        self._locks[command["handle"]].release()
        return True

    def do_extend(self, command: dict[str, Any]) -> bool:
        seconds = command["expiry_ms"] / 1000
        return bool(self._locks[command["handle"]].extend(seconds, replace_ttl=True))


if __name__ == "__main__":
    obey(Peer(int(sys.argv[1])).perform)
