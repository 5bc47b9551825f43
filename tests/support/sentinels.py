"""A primary with its replicas and the Sentinels that watch it, all of our own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import redis

from .servers import RedisServer, server_program, server_version

R = TypeVar("R")

#: What the Sentinels call the primary.
SERVICE = "locks"

#: Milliseconds of silence after which a server counts as down.  Two busy cores are silent for
#: longer than a healthy machine ever is.
DOWN_AFTER = 500

#: Sentinel's own times are those of production; in tests a failover takes one to two seconds.
#: A replica that was silent for five pings is not promoted, so these must not be too quick.
_HURRY = (
    *("info-period", 200, "publish-period", 200),  # these demote an old primary that came back
    *("ping-period", 300, "ask-period", 100),
    *("slave-reconf-timeout", 1000, "min-link-reconnect-period", 100),
    *("tilt-trigger", 10000, "tilt-period", 1000, "election-timeout", 1500),
)

_SERVER = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")


class SentinelServer(RedisServer):
    """One Sentinel; its settings are a file, because it writes down what it learns."""

    def __init__(self, settings: str, port: int | None = None) -> None:
        self._settings = settings
        super().__init__(port=port)

    def _command_line(self) -> list[str]:
        program = super()._command_line()[0]
        return [program, str(self._written()), "--sentinel"]

    def _written(self) -> Path:
        path = self.folder / "sentinel.conf"
        if not path.exists():
            place = f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
            path.write_text(place + self._settings)
        return path


class SentinelFleet:
    """Three Sentinels, a primary and its replicas; each may be killed, paused and started again.

    `server` are settings of the servers, `password` theirs and `sentinel_password` that of the
    Sentinels.  Sentinels that do not `hurry` leave an old primary that came back writable for as
    long as those of production do, about ten seconds.
    """

    def __init__(
        self,
        *server: str,
        password: str = "",
        sentinel_password: str = "",
        hurry: bool = True,
        down_after: int = DOWN_AFTER,
        replicas: int = 2,
    ) -> None:
        self._replicas = replicas
        self._password, self._sentinel_password = password, sentinel_password
        self._down_after = down_after
        self._hurry = _HURRY if hurry else _HURRY[4:]
        self._options = (*_SERVER, *server, *_secrets(password))
        self.servers: list[RedisServer] = []
        self.sentinels: list[SentinelServer] = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        first = RedisServer(*self._options)
        self.servers.append(first)
        follow = ("--replicaof", f"127.0.0.1 {first.port}")
        for _ in range(self._replicas):
            self.servers.append(RedisServer(*self._options, *follow))
        settings = _watching(first.port, self._password, self._sentinel_password, self._down_after)
        for _ in range(3):
            self.sentinels.append(SentinelServer(settings))
        # Before 7.0 they are always as patient as in production.
        hurried = self.sentinels if server_version(server_program()) >= (7, 0) else ()
        for each in hurried:
            with self.ask(each) as client:
                client.execute_command("SENTINEL", "DEBUG", *self._hurry)
        awaited(lambda: self.settled(first), "the fleet to find itself")

    # --- where it is ---------------------------------------------------------------------------

    @property
    def hosts(self) -> str:
        return ",".join(f"127.0.0.1:{each.port}" for each in self.sentinels)

    @property
    def url(self) -> str:
        return f"redis+sentinel://{self.hosts}/{SERVICE}"

    @contextmanager
    def ask(self, server: RedisServer) -> Iterator[Any]:
        """A plain client of a server, or of a Sentinel."""
        is_sentinel = isinstance(server, SentinelServer)
        password = self._sentinel_password if is_sentinel else self._password
        with redis.Redis(
            port=server.port, password=password or None, socket_timeout=1.0, protocol=2
        ) as client:
            yield client

    def role(self, server: RedisServer) -> list[Any]:
        """What a server says that it is; nothing if it does not answer."""
        with suppress(redis.RedisError), self.ask(server) as client:
            return list(client.execute_command("ROLE"))
        return []

    def primary(self) -> RedisServer:
        """The server that most Sentinels take for the primary."""
        ports = [port for each in self.sentinels if (port := self.seen_by(each))]
        port = max(set(ports), key=ports.count)
        return next(each for each in self.servers if each.port == port)

    def replicas(self) -> list[RedisServer]:
        return [each for each in self.servers if each is not self.primary()]

    def leads(self, sentinel: SentinelServer) -> bool:
        """Whether a Sentinel has promoted a server and is not done with the others yet."""
        with self.ask(sentinel) as client:
            words = client.execute_command("SENTINEL", "MASTER", SERVICE)
        return b"reconf_slaves" in words

    def seen_by(self, sentinel: SentinelServer) -> int:
        """The port that a Sentinel takes for the primary's; 0 if it does not answer."""
        with suppress(redis.RedisError), self.ask(sentinel) as client:
            address = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
            return int(address[1])
        return 0

    # --- what becomes of it ----------------------------------------------------------------------

    def settled(self, primary: RedisServer) -> bool:
        """Whether a server is the primary of all others, which acknowledge what it writes, and
        every Sentinel knows all of it."""
        role, replicas = self.role(primary), self._replicas
        if role[:1] != [b"master"] or len(role[2]) < replicas:
            return False
        with self.ask(primary) as client:
            client.set("interlock-tests:settled", 1)
            if client.wait(replicas, 300) < replicas:
                return False
        return all(self._knows(each, primary) for each in self.sentinels)

    def _knows(self, sentinel: SentinelServer, primary: RedisServer) -> bool:
        with self.ask(sentinel) as client:
            seen = _paired(client.execute_command("SENTINEL", "MASTER", SERVICE))
            replicas = client.execute_command("SENTINEL", "REPLICAS", SERVICE)
        up = [each for each in map(_paired, replicas) if each[b"flags"] == b"slave"]
        return (
            int(seen[b"port"]) == primary.port
            and seen[b"flags"] == b"master"
            and len(up) >= self._replicas
            and int(seen[b"num-other-sentinels"]) >= 2
        )

    def fail_over(self, within: float = 60.0) -> RedisServer:
        """Let the Sentinels promote another server, though the primary is well."""
        old = self.primary()
        self.begin_failover(self.sentinels[0], within)
        return self.promoted(old, within)

    def begin_failover(self, leader: SentinelServer, within: float = 60.0) -> None:
        """Let one of the Sentinels begin to promote another server."""

        def begun() -> bool:
            with suppress(redis.RedisError), self.ask(leader) as client:
                client.execute_command("SENTINEL", "FAILOVER", SERVICE)
                return True
            return False  # it needs a replica that it has heard of lately

        awaited(begun, "the failover to begin", within)

    def promoted(self, old: RedisServer, within: float = 60.0) -> RedisServer:
        """Wait until every Sentinel has another primary, and that one takes writes."""
        ports = {each.port: each for each in self.servers}

        def new() -> RedisServer | None:
            seen = {self.seen_by(each) for each in self.sentinels}
            port = seen.pop()
            if seen or port in (0, old.port):
                return None
            return ports[port] if self.role(ports[port])[:1] == [b"master"] else None

        return awaited(new, "another primary", within)

    def close(self) -> None:
        for each in [*self.sentinels, *self.servers]:
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()


def _paired(words: list[bytes]) -> dict[bytes, bytes]:
    """What a Sentinel says of a server."""
    return dict(zip(words[::2], words[1::2], strict=True))


def _secrets(password: str) -> tuple[str, ...]:
    return ("--requirepass", password, "--masterauth", password) if password else ()


def _watching(port: int, password: str, sentinel_password: str, down_after: int) -> str:
    """The settings of a Sentinel that watches a primary."""
    lines = [
        f"sentinel monitor {SERVICE} 127.0.0.1 {port} 2",
        f"sentinel down-after-milliseconds {SERVICE} {down_after}",
        f"sentinel failover-timeout {SERVICE} 1000",
        f"sentinel parallel-syncs {SERVICE} 2",
    ]
    if password:
        lines.append(f"sentinel auth-pass {SERVICE} {password}")
    if sentinel_password:
        lines.append(f"requirepass {sentinel_password}")
        lines.append(f"sentinel sentinel-pass {sentinel_password}")
    return "\n".join(lines) + "\n"


def awaited(condition: Callable[[], R | None], what: str, within: float = 60.0) -> R:
    """Wait until a condition holds, and return what it said."""
    deadline = time.monotonic() + within
    while True:
        with suppress(redis.RedisError):
            if said := condition():
                return said
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.02)
