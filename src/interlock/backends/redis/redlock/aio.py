"""The asyncio link to several nodes: one multiplexed connection to each."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

from ....drive import now
from ....errors import closed, forked
from ....spi import Quiet
from ....steps import Call, Enough, Reply, Wakes
from ....tasks import Sent, TaskParking
from ..aio import RedisAsyncLink, all_of, wait_until
from ..errors import not_answered
from ..transport.factories import NodeFactory
from ..transport.lazy import CLOSING, LazyConnection
from ..transport.lookups import Lookup
from ..transport.mux import Mux, PendingReply
from ..transport.protocol import alike, packed, packed_for, run_told
from ..transport.unheard import Unheard
from ..url import RedisSettings
from .meeting import SUBSCRIBING, Meeting, NodeWakes
from .votes import Unawaited


class NodeReply(PendingReply):
    """The reply of one of several nodes; whoever gathers them is told at once, where a callback
    would take another turn of the loop for each node."""

    __slots__ = ("gathering", "place")

    gathering: Gathering
    place: int

    def set_result(self, result: Any, /) -> None:
        super().set_result(result)
        self.gathering.heard(self.place, result)

    def set_exception(self, exception: Any, /) -> None:
        super().set_exception(exception)
        self.gathering.failed(self.place, self.exception())


class Gathering(Sent):
    """Calls to several nodes under way; settled when those that have answered are enough."""

    def __init__(
        self, requests: Sequence[Call], labels: Sequence[str], enough: Enough, meeting: Meeting
    ) -> None:
        super().__init__()
        self._requests, self._labels = requests, labels
        self._enough, self._meeting = enough, meeting
        self._until = min(request.until for request in requests)
        self._replies: list[Reply] = [None] * len(requests)
        self._timer: asyncio.TimerHandle | None = None
        #: Whether all nodes are asked; before, nothing is settled.
        self._asked = False

    def ask(self, links: Sequence[NodeAsyncLink]) -> None:
        """Send each call to its node; what all of them are asked is packed once."""
        loop, at, self._links = self.get_loop(), now(), links
        self._meeting.asked(self._requests, at)
        if wait := self._meeting.until(at):
            loop.call_later(wait - at, self._look_again)
        last, data = self._requests[0], packed(self._requests[0])
        for place, request in enumerate(self._requests):
            if not alike(request, last):
                last, data = request, packed(request)
            reply = NodeReply(loop=loop)
            reply.gathering, reply.place = self, place
            links[request.node or 0].ask(reply, request, data)
        self._asked = True
        self._look(at)

    def failed(self, place: int, failure: Any) -> None:
        """A node was not reached, or has not answered, or has refused."""
        at, request = now(), self._requests[place]
        # It is noted also where it is not waited for any more.
        self._links[request.node or 0].unheard.note(request, at)
        self.note(place, failure, at)

    def heard(self, place: int, reply: Reply) -> None:
        """A node has answered, perhaps a question that is not waited for any more."""
        at = now()
        if self.done():
            self._meeting.heard(self._requests[place].node or 0, at)
        elif at < self._until:
            self.note(place, reply, at)
        else:  # a reply that is too late is none
            self._meeting.heard(self._requests[place].node or 0, at)
            self.note(place, not_answered("timed out", self._label(place)), at)

    def note(self, place: int, reply: Reply, at: float) -> None:
        """A node has answered in time, or it is known why it has not."""
        if not self.done():
            node = self._requests[place].node or 0
            self._replies[place] = self._meeting.noted(node, reply, at)
            self._look(at)

    def _look(self, at: float) -> None:
        if self.done() or not self._asked:
            return
        replies = self._replies
        if None not in replies or (not self._meeting.until(at) and self._enough(replies)):
            self._settle()
            return
        patience = self._meeting.patience(self._requests, replies)
        if patience <= at:
            self._settle()
        elif self._timer is None and patience < self._until:
            self._timer = self.get_loop().call_later(patience - at, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._look(now())

    def _settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        replies = enumerate(self._replies)
        self.set_result([self._unawaited(i) if reply is None else reply for i, reply in replies])

    def _label(self, place: int) -> str:
        return self._labels[self._requests[place].node or 0]

    def _unawaited(self, place: int) -> Unawaited:
        label = self._label(place)
        return Unawaited(f"the answer of {label} was not awaited", label)


class NodeAsyncLink(RedisAsyncLink):
    """The link to one of several nodes that are all asked the same, and of which not every answer
    is awaited."""

    def __init__(self, settings: RedisSettings) -> None:
        super().__init__(NodeFactory(settings, Lookup(settings)))
        self.unheard = Unheard()

    def _opened(self, connection: LazyConnection) -> None:
        super()._opened(connection)
        if connection is self._calls and connection.mux is not None:
            connection.mux.taught, self.unheard.reached = set(), True
            self._say_unheard(connection.mux)

    def _say_unheard(self, mux: Mux) -> None:
        """Tell the node first which owners have left that it may still vote for."""
        noted = self.unheard.take(now())

        def answered(last: Sent) -> None:
            if last.exception() is not None:
                for at, request in noted:
                    self.unheard.note(request, at)

        if noted:
            mux.repeat([request for _, request in noted]).add_done_callback(answered)

    async def part(self, hangs: bool) -> None:
        """Close it, when the node has heard what concerns it; one that hangs reads what it was
        sent when it goes on."""
        untold = self.unheard.reached and (self.unheard or self._calls.waiting)
        if untold and self._calls.mux is None:
            await wait_until(self._calls.opening(), now() + CLOSING)
        elif hangs:
            self.hang_up(awaited=False)
        await self.close()

    def ask(self, reply: NodeReply, request: Call, data: bytes) -> None:
        """Send a call whose bytes are those of another; which run is asked is put in."""
        mux = self.mux_on(reply.get_loop())
        if mux is None:
            self.send(reply, request)
            return
        if request.operation.wants_run and not mux.run:
            reply.add_done_callback(partial(self._learn_run, mux))
        mux.call(reply, request, packed_for(data, request, mux.run))

    def _learn_run(self, mux: Mux, reply: asyncio.Future[Any]) -> None:
        """What a node tells of its run is true as long as the connection lasts."""
        if reply.exception() is None and isinstance(reply, NodeReply) and reply.request:
            mux.run = run_told(reply.request, reply.result())


class QuorumAsyncLink(TaskParking, Quiet):
    """See `spi.AsyncLink` and `spi.SeveralNodes`."""

    #: It could be: but then the tasks of one client, each behind the release of the one before,
    #: would let no other client in, because nothing keeps an order between clients.
    ordered = False

    def __init__(self, nodes: Sequence[RedisSettings], label: str) -> None:
        self._nodes = [NodeAsyncLink(settings) for settings in nodes]
        self._labels, self._meeting = [node.label for node in nodes], Meeting(len(nodes))
        self._label, self._closed, self._forked = label, False, False
        self._asking: weakref.WeakSet[Sent] = weakref.WeakSet()

    def call(self, request: Call) -> Sent:
        return self._nodes[request.node or 0].call(request)

    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]:
        return all_of([self.call(request) for request in requests])

    def ask_nodes(self, requests: tuple[Call, ...], enough: Enough) -> Sent:
        if self._closed:
            refused = Sent()
            refused.set_exception((forked if self._forked else closed)(self._label))
            return refused
        gathering = Gathering(requests, self._labels, enough, self._meeting)
        gathering.ask(self._nodes)
        self._asking.add(gathering)
        return gathering

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        """Listen to a node that answers: a wake is a hint, and one of them is enough."""
        node = self._nodes[self._meeting.ear(now())]
        return NodeWakes(node, await node.listen(topics, min(until, now() + SUBSCRIBING)))

    async def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, NodeWakes):
            woken: bool = await wakes.link.park(wakes.wakes, until)
            return woken
        return await super().park(wakes, until)

    def after_fork(self) -> None:
        self._closed = self._forked = True
        for node in self._nodes:
            node.after_fork()

    def hang_up(self) -> None:
        awaited = not all(each.done() for each in self._asking)
        for node in self._nodes:
            node.hang_up(awaited)

    async def close(self) -> None:
        self._closed, at = True, now()
        several = enumerate(self._nodes)
        await asyncio.gather(
            *(node.part(self._meeting.hangs(number, at)) for number, node in several)
        )
