"""The asyncio link to a cluster: a link of a single server for each node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any

from ....drive import arun, now
from ....errors import StoreError, StoreUnavailable, closed, forked
from ....spi import Quiet
from ....steps import Call, Reply, Wakes
from ....tasks import TaskParking, pause_task
from ..aio import RedisAsyncLink, all_of
from ..transport.mux import PendingReply
from .nodes import Nodes
from .routing import PRIMARIES, ask_again, follow, is_passing, learn, noted, unrouted
from .slot_map import Address, Destination, SlotMap, SlotWakes


class RoutedReply(PendingReply):
    """The reply to a call of one node; when the node refuses, it becomes that of another.

    It costs an answered call nothing, and a task that awaits it need not know.
    """

    __slots__ = ("address", "cluster")

    cluster: ClusterAsyncLink
    #: None once a task looks for the right node.
    address: Address | None

    def set_exception(self, exception: Any, /) -> None:
        address, self.address = self.address, None
        if address is not None:
            exception = noted(exception, address, self.cluster.slots)
            if is_passing(exception):
                self.cluster.reroute(self, exception)
                return
        super().set_exception(exception)


class ClusterAsyncLink(TaskParking, Quiet):
    """See `spi.AsyncLink`.  Calls of one name go to one node; those of several, side by side."""

    #: As far as one name goes, which one node serves; when that changes, a question may overtake.
    ordered = True

    def __init__(self, nodes: Nodes) -> None:
        self._nodes, self.slots, self._limit = nodes, nodes.slots, nodes.timeout
        self._closed = self._forked = False
        self._links: dict[Address, RedisAsyncLink] = {}
        #: The tasks that look for the right node.
        self._rerouting: set[asyncio.Task[None]] = set()
        #: What the steps of routing are run on.
        self._by_node: Any = AsyncByNode(self, self.slots)

    def call(self, request: Call) -> Awaitable[Reply]:
        if request.operation is PRIMARIES:
            return self._primaries(request.until)
        return self._send(request)

    def _send(self, request: Call) -> RoutedReply:
        loop, slots = asyncio.get_running_loop(), self.slots
        pending = RoutedReply(loop=loop)
        address = request.node or slots.routes.get(request.keys[0]) or slots.route(request)
        pending.cluster, pending.address = self, address
        link = None if address is None else self._links.get(address)
        mux = None if link is None else link.mux_on(loop)
        if mux is None:
            self._send_anyhow(pending, request)
        else:
            mux.call(pending, slots.sharded_call(request))  # on every hot path: no detour
        return pending

    def _send_anyhow(self, pending: RoutedReply, request: Call) -> None:
        """Find the node first, or open a connection to it."""
        pending.request = request
        try:
            if pending.address is None:
                self.reroute(pending, unrouted(request, self.slots))
            else:
                self.link_to(pending.address).send(pending, self.slots.sharded_call(request))
        except StoreError as failure:
            pending.set_exception(failure)

    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]:
        return all_of([self._send(request) for request in requests])

    async def _primaries(self, until: float) -> list[Address]:
        failure = await arun(learn(self.slots, min(until, now() + self._limit)), self._by_node)
        if failure is not None:
            raise failure
        return self.slots.primaries()

    def reroute(self, pending: RoutedReply, refused: StoreError) -> None:
        """Look for the right node, in a task of its own: a call cannot be cancelled."""
        if self._closed:
            pending.set_exception((forked if self._forked else closed)(self._nodes.label))
            return
        task = asyncio.get_running_loop().create_task(
            self._reroute(pending, refused), name="interlock-reroute"
        )
        self._rerouting.add(task)
        task.add_done_callback(partial(self._rerouted, pending))

    async def _reroute(self, pending: RoutedReply, refused: StoreError) -> None:
        request: Any = pending.request
        steps = ask_again((request,), [refused], self.slots, self._limit)
        (reply,) = await arun(steps, self._by_node)
        if isinstance(reply, StoreError):
            pending.set_exception(reply)
        else:
            pending.set_result(reply)

    def _rerouted(self, pending: RoutedReply, task: asyncio.Task[None]) -> None:
        self._rerouting.discard(task)
        self._leave_former()
        if not pending.done():
            # The loop is closing.  Calls cannot be cancelled, so they must be told.
            closing = StoreUnavailable("the event loop is closing", self._nodes.label)
            pending.set_exception(closing)

    def _leave_former(self) -> None:
        """End unused connections to nodes that serve nothing any more; after a refusal, or when a
        waiter has gone to another node, because that is how a client hears of it."""
        for address, link in self._links.items():
            if not self.slots.serves(address):
                link.hang_up_unused()

    def link_to(self, address: Address) -> RedisAsyncLink:
        """The link to one node."""
        link = self._links.get(address)
        if link is None:
            if self._closed:
                raise (forked if self._forked else closed)(self._nodes.label)
            link = RedisAsyncLink(self._nodes.factory(address), self.slots.sharded)
            self._links[address] = link
        return link

    # --- wakes ----------------------------------------------------------------------------------

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        *plain, slot = topics
        wakes = SlotWakes(tuple(plain), slot)
        await self._follow(wakes, until)
        return wakes

    async def _follow(self, wakes: SlotWakes, until: float) -> bool:
        if wakes.address is not None and self.slots.owner(wakes.slot) == wakes.address:
            return False
        followed = await arun(follow(wakes, self.slots, self._limit, until), self._by_node)
        self._leave_former()
        return followed

    async def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, SlotWakes):
            if await self._follow(wakes, until):
                return True  # what was said meanwhile was not heard: ask again
            wakes = wakes.heard
        return await super().park(wakes, until)

    # --- fork and close -------------------------------------------------------------------------

    def after_fork(self) -> None:
        self._closed = self._forked = True
        inherited.append(self._rerouting)
        for link in self._links.values():
            link.after_fork()

    def hang_up(self) -> None:
        for link in self._links.values():
            link.hang_up()

    async def close(self) -> None:
        self._closed = True
        for task in self._rerouting:
            task.cancel()
        if self._rerouting:
            await asyncio.wait(self._rerouting)
        # Each waits a moment for replies that are on their way, and none for another.
        await asyncio.gather(*(link.close() for link in self._links.values()))


class AsyncByNode:
    """Calls that say which node is asked: what the steps of routing are run on."""

    ordered = True

    def __init__(self, cluster: ClusterAsyncLink, slots: SlotMap) -> None:
        self._link_to, self._slots = cluster.link_to, slots

    async def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        """Ask every node before any is read."""
        return list(await asyncio.gather(*map(self._ask, requests)))

    async def _ask(self, request: Call) -> Reply:
        node: Destination | None = request.node
        if node is None:
            return unrouted(request, self._slots)
        try:
            link, call = self._link_to(node.address), self._slots.sharded_call(request)
            reply = await (link.ask_anyway(call) if node.anyway else link.call(call))
        except StoreError as failure:
            reply = failure
        return noted(reply, node.address, self._slots)

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        """Listen on the node that stands before the topics."""
        address, *plain = topics
        return await self._link_to(address).listen(tuple(plain), until)

    async def park(self, wakes: None, until: float) -> bool:
        return await pause_task(until)


#: What forked children must neither use nor close.
inherited: list[Any] = []
