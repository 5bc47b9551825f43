"""The blocking link to a cluster: a link of a single server for each node."""

from __future__ import annotations

import selectors
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

from ....drive import now, run
from ....errors import StoreError
from ....parking import ThreadParking, pause_thread
from ....spi import Quiet
from ....steps import Call, Reply, Wakes
from ..link import RedisLink
from ..transport.connection import BlockingConnection
from .nodes import Nodes
from .routing import PRIMARIES, follow, learn, noted, settled, unrouted
from .slot_map import Address, Destination, SlotMap, SlotWakes


class ClusterLink(ThreadParking, Quiet):
    """See `spi.Link`.  Calls of one name go to one node; those of several, side by side."""

    ordered = False

    def __init__(self, nodes: Nodes) -> None:
        self._nodes, self._slots, self._limit = nodes, nodes.slots, nodes.timeout
        self._closed = self._forked = False
        self._links: dict[Address, RedisLink] = {}
        #: What the steps of routing are run on.
        self._by_node: Any = ByNode(self, self._slots)

    def call(self, request: Call) -> Reply:
        if request.operation is PRIMARIES:
            return self._primaries(request.until)
        reply: Any
        slots = self._slots
        address = slots.routes.get(request.keys[0]) or slots.route(request)
        if address is None:
            reply = unrouted(slots)
        else:
            try:
                link = self._links.get(address) or self.link_to(address)
                return link.call(slots.spoken(request))
            except StoreError as failure:
                reply = noted(failure, address, slots)
        (reply,) = run(settled((request,), [reply], self._slots, self._limit), self._by_node)
        self._leave_former()
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        placed = [request._replace(node=self._node_of(request)) for request in requests]
        replies = self._by_node.together(tuple(placed))
        whole: list[Reply] = run(
            settled(requests, replies, self._slots, self._limit), self._by_node
        )
        return whole

    def _node_of(self, request: Call) -> Destination | None:
        if request.node is not None:
            return Destination(request.node)
        address = self._slots.route(request)
        return None if address is None else Destination(address)

    def _primaries(self, until: float) -> list[Address]:
        failure = run(learn(self._slots, min(until, now() + self._limit)), self._by_node)
        if failure is not None:
            raise failure
        return self._slots.primaries()

    def _leave_former(self) -> None:
        """End idle connections to nodes that serve nothing any more; after a refusal, because
        that is how a client hears of it."""
        for address, link in list(self._links.items()):
            if not self._slots.serves(address):
                link.hang_up()

    def link_to(self, address: Address) -> RedisLink:
        """The link to one node."""
        link = self._links.get(address)
        if link is None:
            link = RedisLink(self._nodes.factory(address), self._slots.sharded)
            link = self._links.setdefault(address, link)  # another thread may have been quicker
            if self._closed:  # it refuses every call
                link.after_fork() if self._forked else link.close()
        return link

    # --- wakes ----------------------------------------------------------------------------------

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        *plain, slot = topics
        wakes = SlotWakes(tuple(plain), slot)
        self._follow(wakes, until)
        return wakes

    def _follow(self, wakes: SlotWakes, until: float) -> bool:
        if wakes.address is not None and self._slots.owner(wakes.slot) == wakes.address:
            return False
        return run(follow(wakes, self._slots, self._limit, until), self._by_node)

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, SlotWakes):
            if self._follow(wakes, until):
                return True  # what was said meanwhile was not heard: ask again
            if wakes.address is None:
                return pause_thread(until)
            return self.link_to(wakes.address).park(wakes.heard, until)
        return super().park(wakes, until)

    # --- fork and close -------------------------------------------------------------------------

    def engaged(self) -> bool:
        return any(link.engaged() for link in list(self._links.values()))

    def after_fork(self) -> None:
        self._closed = self._forked = True
        for link in list(self._links.values()):
            link.after_fork()

    def close(self) -> None:
        self._closed = True
        for link in list(self._links.values()):
            link.close()


class Exchange(NamedTuple):
    """Calls that were sent to one node, and are not read yet."""

    address: Address
    link: RedisLink
    places: list[int]
    calls: tuple[Call, ...]


class ByNode:
    """Calls that say which node is asked: what the steps of routing are run on."""

    ordered = False

    def __init__(self, cluster: ClusterLink, slots: SlotMap) -> None:
        self._link_to, self._slots = cluster.link_to, slots

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        """Ask every node before any is read, so that none waits for another."""
        replies: list[Reply] = [unrouted(self._slots) for _ in requests]
        groups: dict[Destination, list[int]] = {}
        for i, request in enumerate(requests):
            if request.node is not None:
                groups.setdefault(request.node, []).append(i)
        self._ask(groups, requests, replies)
        return replies

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        """Listen on the node that stands before the topics."""
        address, *plain = topics
        return self._link_to(address).listen(tuple(plain), until)

    def park(self, wakes: None, until: float) -> bool:
        return pause_thread(until)

    def _ask(
        self,
        groups: dict[Destination, list[int]],
        requests: tuple[Call, ...],
        replies: list[Reply],
    ) -> None:
        sent: dict[BlockingConnection, Exchange] = {}
        try:
            for node, places in groups.items():
                calls = tuple(self._slots.spoken(requests[i]) for i in places)
                self._send(node, places, calls, sent, replies)
            for connection in as_they_answer(list(sent)):
                self._read(connection, sent.pop(connection), replies)
        finally:
            for connection in sent:  # interrupted: their replies are no other call's
                connection.close()

    def _send(
        self,
        node: Destination,
        places: list[int],
        calls: tuple[Call, ...],
        sent: dict[BlockingConnection, Exchange],
        replies: list[Reply],
    ) -> None:
        try:
            link = self._link_to(node.address)
            if node.anyway:
                self._put(node.address, places, [_asked(link, each) for each in calls], replies)
            else:
                exchange = Exchange(node.address, link, places, calls)
                sent[link.send(calls)] = exchange
        except StoreError as failure:
            self._put(node.address, places, _for_each(failure, calls), replies)

    def _read(
        self, connection: BlockingConnection, exchange: Exchange, replies: list[Reply]
    ) -> None:
        address, link, places, calls = exchange
        try:
            answers = link.replies(connection, calls)
        except StoreError as failure:
            answers = _for_each(failure, calls)
        self._put(address, places, answers, replies)

    def _put(
        self, address: Address, places: list[int], answers: list[Reply], replies: list[Reply]
    ) -> None:
        for i, answer in zip(places, answers, strict=True):
            replies[i] = noted(answer, address, self._slots)


def _asked(link: RedisLink, request: Call) -> Reply:
    try:
        return link.ask_anyway(request)
    except StoreError as failure:
        return failure


def _for_each(failure: StoreError, calls: tuple[Call, ...]) -> list[Reply]:
    """The failure of all of them, for each: each may note something of its own."""
    return [copy(failure) for _ in calls]


def as_they_answer(connections: list[BlockingConnection]) -> Iterator[BlockingConnection]:
    """Each connection as soon as it can be read; those that are silent at the end."""
    if len(connections) < 2:
        yield from connections
        return
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        until = min(connection.until for connection in connections)
        while connections and (ready := selector.select(max(0.0, until - now()))):
            for key, _ in ready:
                selector.unregister(key.fileobj)
                connections.remove(key.fileobj)  # type: ignore[arg-type]  # we registered it
                yield key.fileobj  # type: ignore[misc]
    yield from connections
