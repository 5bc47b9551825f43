"""The blocking link to a cluster: a link of a single server for each node."""

from __future__ import annotations

from typing import Any

from ....drive import now, run
from ....errors import StoreError
from ....parking import ThreadParking, pause_thread
from ....spi import Quiet
from ....steps import Call, Reply, Wakes
from ..link import RedisLink
from .by_node import ByNode
from .nodes import Nodes
from .routing import PRIMARIES, ask_again, follow, learn, noted, unrouted
from .slot_map import Address, Destination, SlotWakes


class ClusterLink(ThreadParking, Quiet):
    """See `spi.Link`.  Calls of one name go to one node; those of several, side by side."""

    ordered = False

    def __init__(self, nodes: Nodes) -> None:
        self._nodes, self._slots, self._limit = nodes, nodes.slots, nodes.timeout
        self._closed = self._forked = False
        self._links: dict[Address, RedisLink] = {}
        #: What the steps of routing are run on.
        self._by_node: Any = ByNode(self.link_to, self._slots)

    def call(self, request: Call) -> Reply:
        if request.operation is PRIMARIES:
            return self._primaries(request.until)
        reply: Any
        slots = self._slots
        address = slots.routes.get(request.keys[0]) or slots.route(request)
        if address is None:
            reply = unrouted(request, slots)
        else:
            try:
                link = self._links.get(address) or self.link_to(address)
                return link.call(slots.sharded_call(request))
            except StoreError as failure:
                reply = noted(failure, address, slots)
        (reply,) = run(ask_again((request,), [reply], self._slots, self._limit), self._by_node)
        self._leave_former()
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        placed = [request._replace(node=self._node_of(request)) for request in requests]
        replies = self._by_node.together(tuple(placed))
        whole: list[Reply] = run(
            ask_again(requests, replies, self._slots, self._limit), self._by_node
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
