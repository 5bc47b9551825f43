"""A Redis Cluster for tests: three primaries and their replicas, started in about two seconds.

Each node finds the others in the `nodes.conf` that it starts with, so that no node has to meet
another; the two seconds are how long a node waits before it serves after its start.
"""

from __future__ import annotations

import secrets
import socket
import ssl
import time
from binascii import crc_hqx
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, Self

import redis

from .eventually import eventually
from .servers import RedisServer, free_port, is_free, server_program, server_version

#: How many slots there are, and where the shares of three primaries begin.
SLOTS, SHARES = 16384, (0, 5461, 10923, 16384)

#: How far the port of a node is from that of its bus, where it cannot be chosen.
BUS = 10_000

#: Milliseconds of silence after which the others take a node for dead.
NODE_TIMEOUT = 1000


def slot_of(key: str) -> int:
    """The slot of a key; of a hash tag, if it has one."""
    _, opened, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    return int(crc_hqx((tag if opened and closed and tag else key).encode(), 0)) % SLOTS


class ClusterServer(RedisServer):
    """One node of a cluster; it is started when all of them are known."""

    def __init__(self, number: int, *options: str) -> None:
        self.number, self.id, self._known = number, secrets.token_hex(20), False
        port, self.bus, chosen = _ports()
        super().__init__(*options, *chosen, port=port)

    def start(self) -> None:
        """Start it (again), without waiting until it serves."""
        if self._known:
            super().start()

    def join(self, nodes: list[ClusterServer]) -> None:
        """Start it as one of these."""
        lines = [node.described(self, nodes) for node in nodes]
        text = "\n".join([*lines, "vars currentEpoch 3 lastVoteEpoch 0", ""])
        (self.folder / "nodes.conf").write_text(text)
        self._known = True
        self.start()

    def described(self, reader: ClusterServer, nodes: list[ClusterServer]) -> str:
        """Its line in the `nodes.conf` of a node."""
        place, share = f"127.0.0.1:{self.port}@{self.bus}", self.number % 3
        flags, primary, slots = "slave", nodes[share].id, ""
        if self.number < 3:
            flags, primary, slots = "master", "-", f" {SHARES[share]}-{SHARES[share + 1] - 1}"
        if self is reader:
            flags = f"myself,{flags}"
        return f"{self.id} {place} {flags} {primary} 0 0 {share + 1} connected{slots}"

    def client(self) -> Any:
        return redis.Redis(port=self.port, socket_timeout=5, **self._security)

    #: How a plain client of it is protected.
    _security: Mapping[str, Any] = MappingProxyType({})

    def ask(self, *words: Any) -> Any:
        """What this node answers, redirections and refusals too."""
        with self.client() as client:
            return client.execute_command(*words)

    @property
    def facts(self) -> dict[str, str]:
        """CLUSTER INFO."""
        answer = self.ask("CLUSTER INFO")
        if isinstance(answer, bytes):
            lines = answer.decode().split()
            return dict(line.split(":", 1) for line in lines)
        return dict(answer)


def _ports() -> tuple[int, int, tuple[str, ...]]:
    """The ports of a node and of its bus, and how to say the latter, which 7.0 lets one choose."""
    if server_version(server_program()) >= (7, 0):
        bus = free_port()
        return free_port(), bus, ("--cluster-port", str(bus))
    port = free_port()
    while port + BUS > 65535 or not is_free(port + BUS):
        port = free_port()
    return port, port + BUS, ()


class TlsClusterServer(ClusterServer):
    """The same with TLS, and without any port that has none; its certificate is an option."""

    _security = MappingProxyType({"ssl": True, "ssl_cert_reqs": "none"})

    def _command_line(self) -> list[str]:
        port = ("--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no")
        return [
            *super()._command_line(),
            *port,
            "--tls-cluster",
            "yes",
            "--tls-replication",
            "yes",
        ]

    def _connection(self) -> socket.socket:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(super()._connection())


class RedisCluster:
    """Six nodes on free loopback ports, ended by their pids; three without `replicas`."""

    def __init__(
        self, *options: str, replicas: bool = True, kind: type[ClusterServer] = ClusterServer
    ) -> None:
        settings = [*("--cluster-enabled", "yes"), *("--cluster-node-timeout", str(NODE_TIMEOUT))]
        # Replicas are to be ready when the cluster is.
        settings += ["--repl-diskless-sync-delay", "0"]
        count = 6 if replicas else 3
        self.nodes = [kind(number, *settings, *options) for number in range(count)]
        try:
            for node in self.nodes:
                node.join(self.nodes)
            self.await_ready()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Two of the primaries and a replica, if there are any, are enough to find the others."""
        seeds = (self.nodes[0], self.nodes[1], self.nodes[-1])
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in seeds)

    def await_ready(self) -> None:
        """Until every node that runs serves every slot, and each replica follows its primary."""
        assert eventually(lambda: all(map(_serves, self.nodes)), 20.0), "the cluster is not ready"

    def await_told(self) -> None:
        """Until the map of every node names all replicas: one that was never written to has no
        offset, and is left out at first."""
        for key in ("a", "b", "c"):  # one for each share
            self.primary_of(key).ask("SET", key, "", "PX", "1")
        eventually(lambda: all(len(replicas_told(node)) == 3 for node in self.nodes), 20.0)

    def primary_of(self, key: str) -> ClusterServer:
        """The node that serves the slot of a key, as the nodes that run see it."""
        return self.owner(slot_of(key))

    def owner(self, slot: int) -> ClusterServer:
        for first, last, (_, port, *_), *_ in self._running().ask("CLUSTER SLOTS"):
            if first <= slot <= last:
                return self.at(port)
        raise LookupError(f"no node serves slot {slot}")

    def at(self, port: int) -> ClusterServer:
        return next(node for node in self.nodes if node.port == port)

    def _running(self) -> ClusterServer:
        """A node that answers and is in touch with the others."""
        for node in self.nodes:
            with suppress(redis.RedisError, OSError):
                if node.facts["cluster_state"] == "ok":
                    return node
        raise LookupError("no node answers")

    def other_than(self, node: ClusterServer) -> ClusterServer:
        """Another primary."""
        return next(each for each in self.nodes[:3] if each is not node)

    def replica_of(self, node: ClusterServer) -> ClusterServer:
        return self.nodes[(node.number + 3) % 6]

    # --- slots that move ------------------------------------------------------------------------

    @contextmanager
    def moving(self, slot: int) -> Iterator[tuple[ClusterServer, ClusterServer]]:
        """A slot on its way to another primary, where it is at the end; its keys have not moved
        yet."""
        source = self.owner(slot)
        target = self.other_than(source)
        target.ask("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
        source.ask("CLUSTER SETSLOT", slot, "MIGRATING", target.id)
        try:
            yield source, target
        finally:
            self.move_keys(slot, source, target)
            for node in (target, source, *self.nodes[:3]):
                node.ask("CLUSTER SETSLOT", slot, "NODE", target.id)

    def move_keys(self, slot: int, source: ClusterServer, target: ClusterServer) -> None:
        """Move every key of a slot, one at a time, as redis-cli does."""
        while keys := source.ask("CLUSTER GETKEYSINSLOT", slot, 100):
            for key in keys:
                source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)

    def move_slot(self, slot: int) -> ClusterServer:
        """Move a slot to another primary, with what is in it."""
        with self.moving(slot) as (_, target):
            pass
        return target

    # --- the end --------------------------------------------------------------------------------

    def flush(self) -> None:
        """Empty every primary."""
        for node in self.nodes:
            with suppress(redis.ReadOnlyError):
                node.ask("FLUSHALL")

    def close(self) -> None:
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()


def replicas_told(node: ClusterServer) -> set[int]:
    """The ports of the replicas that a node's map names."""
    return {port for _, _, _, *others in node.ask("CLUSTER SLOTS") for _, port, *_ in others}


def _serves(node: ClusterServer) -> bool:
    try:
        if node.facts["cluster_state"] != "ok":
            return False
        with node.client() as client:
            link: str = client.info("replication").get("master_link_status", "up")
            return link == "up"
    except (redis.RedisError, OSError):
        return False


def await_promotion(cluster: RedisCluster, slot: int, dead: ClusterServer) -> float:
    """Wait until another node serves a slot; answers how many seconds that took."""
    began = time.monotonic()

    def promoted() -> bool:
        with suppress(LookupError):
            return cluster.owner(slot) is not dead
        return False

    assert eventually(promoted, 20.0), "no replica was promoted"
    return time.monotonic() - began
