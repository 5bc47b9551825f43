"""What the server itself counts: commands and connections."""

from __future__ import annotations

from typing import Any

import redis


class Counter:
    """Counts the commands that clients send, by the server's own statistics.

    The server also counts what scripts do inside; therefore one asks for the commands that a
    contestant sends itself, by name.
    """

    def __init__(self, port: int) -> None:
        self._client = redis.Redis(port=port)
        self._own = self.connections()

    def reset(self) -> None:
        self._client.config_resetstat()

    def commands(self, names: tuple[str, ...]) -> int:
        """How often any of these was called since the reset."""
        stats: Any = self._client.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in names)

    def connections(self) -> int:
        info: Any = self._client.info("clients")
        return int(info["connected_clients"]) - getattr(self, "_own", 0)

    def clear(self) -> None:
        """Forget every key, whatever a contestant has left behind."""
        self._client.flushall()

    def close(self) -> None:
        self._client.close()
