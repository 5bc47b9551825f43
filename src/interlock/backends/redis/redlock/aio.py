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
from ..transport.mux import Mux
from ..transport.unheard import Unheard
from ..url import RedisSettings
from .meeting import SUBSCRIBING, Meeting, NodeWakes
from .votes import Unawaited


class Gathering:
    """Calls to several nodes under way; settled when those that have answered are enough."""

    def __init__(
        self,
        requests: Sequence[Call],
        calls: Sequence[Sent],
        labels: Sequence[str],
        enough: Enough,
        meeting: Meeting,
        unheard: Sequence[Unheard],
    ) -> None:
        self._requests, self._calls, self._labels = requests, calls, labels
        self._enough, self._meeting, self._unheard = enough, meeting, unheard
        self._until = min(request.until for request in requests)
        self._replies: list[Reply] = [None] * len(calls)
        self.whole = Sent()
        self._timer: asyncio.TimerHandle | None = None
        meeting.asked(requests, now())
        if wait := meeting.until(now()):
            asyncio.get_running_loop().call_later(wait - now(), self._look)
        for place, each in enumerate(calls):
            each.add_done_callback(partial(self._heard, place))
        self._look()

    def _heard(self, place: int, call: asyncio.Future[Any]) -> None:
        failure = call.exception()  # also of a call that is not waited for any more
        if failure is not None:
            self._replies[place] = failure
            request = self._requests[place]
            self._unheard[request.node or 0].note(request, now())
        else:
            at = now()
            self._meeting.heard(self._requests[place].node or 0, at)
            # A reply that is too late is none.
            late = not_answered("timed out", self._label(place)) if at >= self._until else None
            self._replies[place] = late or call.result()
        self._look()

    def _look(self) -> None:
        if self.whole.done():
            return
        replies, at = list(self._replies), now()
        self._meeting.note(self._requests, replies, at)
        decided = not self._meeting.until(at) and self._enough(replies)
        patience = self._meeting.patience(self._requests, replies)
        if decided or None not in replies or patience <= at:
            self._settle(replies)
        elif self._timer is None and patience < self._until:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(patience - at, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._look()

    def _settle(self, replies: Sequence[Reply]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        whole = [self._unawaited(i) if reply is None else reply for i, reply in enumerate(replies)]
        self.whole.set_result(whole)

    def _label(self, place: int) -> str:
        return self._labels[self._requests[place].node or 0]

    def _unawaited(self, place: int) -> Unawaited:
        label = self._label(place)
        return Unawaited(f"the answer of {label} was not awaited", label)


class NodeAsyncLink(RedisAsyncLink):
    """The link to one of several nodes, of which not every answer is awaited."""

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


class QuorumAsyncLink(TaskParking, Quiet):
    """See `spi.AsyncLink` and `spi.SeveralNodes`."""

    #: It could be: but then the tasks of one client, each behind the release of the one before,
    #: would let no other client in, because nothing keeps an order between clients.
    ordered = False

    def __init__(self, nodes: Sequence[RedisSettings], label: str) -> None:
        self._nodes = [NodeAsyncLink(settings) for settings in nodes]
        self._unheard = [node.unheard for node in self._nodes]
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
        calls = [self.call(request) for request in requests]
        parts = self._labels, enough, self._meeting, self._unheard
        whole = Gathering(requests, calls, *parts).whole
        self._asking.add(whole)
        return whole

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
