"""Several ZooKeeper servers that agree, of which a test may end or pause some."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Self, Unpack

from .zookeepers import NotStarted, Options, ZooKeeperServer, awaited

#: In ticks: how long a member may take to join, and how long it may stay silent.
_LIMITS = {"initLimit": 50, "syncLimit": 15, "standaloneEnabled": "false"}


class Ensemble:
    """ZooKeeper servers with a quorum: each may be killed, and started again."""

    def __init__(self, size: int = 3, **options: Unpack[Options]) -> None:
        try:
            self.members = _started(size, options)
        except (NotStarted, TimeoutError):
            # A port that was free when it was chosen may be taken by now: choose others.
            self.members = _started(size, options)

    @property
    def hosts(self) -> str:
        return ",".join(member.hosts for member in self.members)

    def url(self, path: str = "") -> str:
        return f"zk://{self.hosts}/{path.lstrip('/')}"

    def leader(self) -> ZooKeeperServer:
        """The one that leads; while they are electing, the one that is elected."""
        return awaited(self._only_leader, 60, lambda: f"no leader among {self.hosts}")

    def followers(self) -> list[ZooKeeperServer]:
        """Those that follow right now."""
        return self._with_mode("follower")

    def start(self) -> None:
        """Start every member that does not run, and wait until all serve."""
        for member in self.members:
            if not member.running:
                member.launch()
        for member in self.members:
            member.await_serving()

    def close(self) -> None:
        """End them all and remove their data."""
        for member in self.members:
            member.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()

    def _only_leader(self) -> ZooKeeperServer | None:
        # One that was deposed while it was paused believes for a moment that it still leads.
        leaders = self._with_mode("leader")
        return leaders[0] if len(leaders) == 1 else None

    def _with_mode(self, mode: str) -> list[ZooKeeperServer]:
        return [member for member in self.members if member.mode() == mode]


def _started(size: int, options: Options) -> list[ZooKeeperServer]:
    ports = free_ports(3 * size)
    peers = {
        f"server.{number}": f"127.0.0.1:{ports[size + number - 1]}:{ports[2 * size + number - 1]}"
        for number in range(1, size + 1)
    }
    settings = {**_LIMITS, **peers, **options.get("settings", {})}
    own: Options = {**options, "settings": settings}
    with ExitStack() as failing:
        members = [
            failing.enter_context(ZooKeeperServer(number, ports[number - 1], **own))
            for number in range(1, size + 1)
        ]
        for member in members:
            member.await_serving()
        failing.pop_all()
    return members


def free_ports(count: int) -> list[int]:
    """So many loopback ports, all different, that nobody uses right now."""
    with ExitStack() as probes:
        sockets = [probes.enter_context(socket.socket()) for _ in range(count)]
        for probe in sockets:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in sockets]
