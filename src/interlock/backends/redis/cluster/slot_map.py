"""Which node of a cluster serves which slot, as far as a client knows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Any, NamedTuple

from ....drive import now
from ....steps import Call, Wakes
from ..errors import Redirected
from ..scripts import Script, remade, script, text
from ..transport.borrowed import Remap
from .slots import SLOTS, slot_of

# Java's waiters listen on channels of slots where the server has them, and so do ours there.  Our
# own wakes are told to all nodes: a waiter is found wherever its slot is on its way to.
_TO_JAVA = re.compile(r"'PUBLISH', (?!wake)")
_JAVA_WAITS = re.compile(r"'PUBSUB', 'NUMSUB', channel\b")

#: What the names of Java's channels start with.
JAVA = "redisson_"

#: How many keys a map remembers whom to ask for.
ROUTES = 16384


class Address(NamedTuple):
    """Where a node is."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Destination(NamedTuple):
    """Whom to ask; `anyway` though the slot is not the node's yet."""

    address: Address
    anyway: bool = False


class SlotWakes:
    """Where a thread or task hears of the topics of a slot, on the node that serves it."""

    def __init__(self, topics: tuple[Any, ...], slot: int) -> None:
        self.topics, self.slot = topics, slot
        #: The node, and where it is heard there.
        self.address: Address | None = None
        self.heard: Wakes | None = None

    def __enter__(self) -> SlotWakes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.heard is not None:
            self.heard.__exit__(kind, error, trace)

    def wake(self) -> None:
        if self.heard is not None:
            self.heard.wake()


class SlotMap:
    """Which node serves which slot; any thread may read it and write down what it learns.

    It may be wrong at any time: a node that is asked in error says so, and executes nothing.
    """

    def __init__(
        self,
        seeds: Sequence[Address],
        label: str,
        remap: Remap | None = None,
        may_shard: bool = True,
    ) -> None:
        self.seeds, self.label = tuple(seeds), label
        self._remap, self._may_shard = remap, may_shard
        #: None until a node was asked.
        self._owners: list[Address | None] | None = None
        #: Every node that serves a slot; replaced, never changed.
        self._primaries: set[Address] = set()
        #: How many replicas each of them had, that had not failed; replaced, never changed.
        self._replicas: dict[Address, int] = {}
        #: Whether the servers have channels of slots, and the client may use them.
        self._sharded = False
        #: Nodes that have failed to answer, until they do: before they are asked again, the others
        #: are asked whether they still serve what they did; and so no other node has to wait for
        #: them.  What the others say of such a node does not end it.
        self.suspects: set[Address] = set()
        self.learnt_at = -math.inf
        #: Whom to ask for a key, as was found before; forgotten with every change.
        self.routes: dict[str, Address] = {}

    @property
    def learnt(self) -> bool:
        """Whether a node has told its map."""
        return self._owners is not None

    def owner(self, slot: int) -> Address | None:
        return None if self._owners is None else self._owners[slot]

    def owner_of(self, request: Call) -> Address | None:
        """The node that serves the first of the keys."""
        owners = self._owners
        return owners[slot_of(request.keys[0])] if owners is not None and request.keys else None

    def route(self, request: Call) -> Address | None:
        """The node to ask at once; None where that must be found out first."""
        routes = self.routes  # another thread may replace it meanwhile, and this is lost with it
        address = self.owner_of(request)
        if address is None or address in self.suspects:
            return None
        if len(routes) < ROUTES:
            routes[request.keys[0]] = address
        return address

    def suspect(self, address: Address) -> None:
        """A node has failed to answer."""
        self.suspects.add(address)
        self.routes = {}

    def trust(self, address: Address) -> None:
        """A node has answered."""
        self.suspects.discard(address)

    def primaries(self) -> list[Address]:
        """Every node that serves a slot."""
        return sorted(self._primaries)

    def serves(self, address: Address) -> bool:
        """Whether a node serves a slot."""
        return address in self._primaries

    def candidates(self) -> list[Address]:
        """Whom to ask for the map, the likeliest to answer first."""
        known = dict.fromkeys((*self.primaries(), *self.seeds))
        return sorted(known, key=self.suspects.__contains__)

    def note(self, moved: Redirected, asked: Address) -> Address:
        """A slot has moved; answers where to."""
        where = self._reached(moved.where[0] or asked.host, moved.where[1])
        if moved.code == "MOVED" and self._owners is not None:
            self._owners[moved.slot] = where
            self._primaries = self._primaries | {where}
            self.routes = {}
        return where

    def learn(self, answer: Any, asked: Address) -> None:
        """A node has told its map: see cluster_map.lua."""
        owners: list[Address | None] = [None] * SLOTS
        replicas: dict[Address, int] = {}
        for first, last, primary, *others in answer[2]:
            where = self._reached(_host(primary[0], asked), int(primary[1]))
            owners[first : last + 1] = [where] * (last + 1 - first)
            replicas[where] = len(others)
        self._sharded = self._may_shard and bool(answer[1])
        self._owners, self.learnt_at = owners, now()
        self._primaries, self._replicas = {*replicas}, replicas
        self.suspects &= {*replicas, *self.seeds}
        self.routes = {}

    def replicas_of(self, address: Address) -> int:
        """How many replicas a node had when the map was told, that had not failed."""
        return self._replicas.get(address, 0)

    def replicas(self, answer: Any, asked: Address) -> dict[Address, Address]:
        """The replicas that a node's map names, and whom each of them follows."""
        found: dict[Address, Address] = {}
        for _, _, *several in answer[2]:
            primary, *others = (
                self._reached(_host(each[0], asked), int(each[1])) for each in several
            )
            found.update(dict.fromkeys(others, primary))
        return found

    def _reached(self, host: str, port: int) -> Address:
        """Where a node is reached that says it is there."""
        return Address(host, port) if self._remap is None else Address(*self._remap((host, port)))

    # --- channels of slots ----------------------------------------------------------------------

    def sharded(self, channel: str) -> bool:
        """Whether a channel is listened to as one of its slot."""
        return self._sharded and channel.startswith(JAVA)

    def sharded_call(self, request: Call) -> Call:
        """A call as it is sent: where Java listens on channels of slots, it is told there."""
        if not self._sharded or (twin := _in_shards(request.operation.name)) is None:
            return request
        return tuple.__new__(Call, (twin, *request[1:]))  # a fifth of the time of _replace()


@cache
def _in_shards(name: str) -> Script | None:
    """The script that tells Java on channels of slots; None where Java is told nothing."""
    plain = script(name)
    words = _TO_JAVA.sub("'SPUBLISH', ", plain.text)
    words = _JAVA_WAITS.sub("'PUBSUB', 'SHARDNUMSUB', channel", words)
    return None if words == plain.text else remade(plain, words)


def _host(told: Any, asked: Address) -> str:
    """A node that does not know its own name is where it was asked."""
    host = text(told) if told else ""
    return asked.host if host in ("", "?") else host


#: Asks a node for its map.
CLUSTER_MAP = script("cluster_map")
