"""The blocking link to several nodes: it sends to all of them, then reads; without threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....drive import now
from ....errors import StoreError, closed, forked
from ....parking import ThreadParking, go_on_any
from ....spi import Quiet
from ....steps import Call, Enough, Reply, Wakes
from ..errors import not_answered
from ..link import RedisLink
from ..transport.awaited import AwaitedReply
from ..transport.factories import NodeFactory
from ..transport.known_node import ForkFlag, KnownNode
from ..transport.node_connection import NodeConnection
from ..transport.protocol import alike, packed
from ..transport.unheard import Unheard
from ..transport.weak_registry import WeakRegistry
from ..url import RedisSettings
from .meeting import SUBSCRIBING, Meeting, NodeWakes
from .parting import part
from .votes import Unawaited

#: Idle connections to each node that are kept; threads beyond that open and close their own.
KEPT = 16


class NodeConnections:
    """One connection to each node, used by one thread at a time."""

    def __init__(self, nodes: Sequence[KnownNode]) -> None:
        self._each = [NodeConnection(node) for node in nodes]

    def __iter__(self) -> Iterator[NodeConnection]:
        return iter(self._each)

    def ask(
        self,
        requests: Sequence[Call],
        enough: Enough,
        until: float,
        meeting: Meeting,
        hurried: bool,
    ) -> list[Reply]:
        began = now()
        meeting.asked(requests, began)
        awaited = self._send(requests, began)
        asked = {request.node or 0: self._each[request.node or 0] for request in requests}
        replies: list[Reply] = [None] * len(requests)
        while True:
            at = now()
            self._note(meeting, awaited, replies, asked, at)
            limit = meeting.until(at)
            if None not in replies or at >= until or (not limit and enough(replies)):
                break
            patience = meeting.patience(requests, replies) if hurried else until
            if at >= patience:
                break
            go_on_any(asked.values(), min(limit or until, until, patience) - at)
        return [
            self._reply(each, reply, until) for each, reply in zip(awaited, replies, strict=True)
        ]

    def _send(self, requests: Sequence[Call], at: float) -> list[AwaitedReply]:
        """Send each call to its node; what all of them are asked is packed once."""
        awaited, last, data = [], requests[0], packed(requests[0])
        for request in requests:
            if not alike(request, last):
                last, data = request, packed(request)
            awaited.append(self._each[request.node or 0].ask(request, at, data))
        return awaited

    def _note(
        self,
        meeting: Meeting,
        awaited: list[AwaitedReply],
        replies: list[Reply],
        asked: Mapping[int, NodeConnection],
        at: float,
    ) -> None:
        """Note which nodes have answered, this question or an earlier one."""
        for node, connection in asked.items():
            if connection.heard_at:
                meeting.heard(node, connection.heard_at)
                connection.heard_at = 0.0
        for place, each in enumerate(awaited):
            if replies[place] is None and each.reply is not None:
                replies[place] = meeting.noted(_node(each), each.reply, at)

    def _reply(self, awaited: AwaitedReply, reply: Reply, until: float) -> Reply:
        """What has come in time; a reply that is too late is none."""
        if reply is not None and awaited.came_at < until:
            return reply
        label = self._each[_node(awaited)].label
        if now() < until:
            return Unawaited(f"the answer of {label} was not awaited", label)
        return not_answered("timed out", label)

    def close(self) -> None:
        for each in self._each:
            each.close()

    def shut_down(self) -> None:
        for each in self._each:
            each.shut_down()

    def abandon(self) -> None:
        for each in self._each:
            each.abandon()


class QuorumLink(ThreadParking, Quiet):
    """See `spi.Link` and `spi.SeveralNodes`."""

    ordered = False

    def __init__(self, nodes: Sequence[RedisSettings], label: str) -> None:
        self._label = label
        self._timeout = max(node.timeout for node in nodes)
        self._closed, self._fork = False, ForkFlag()
        self._nodes = [KnownNode(settings, self._fork, Unheard()) for settings in nodes]
        self._meeting = Meeting(len(nodes))
        #: For wakes alone.
        self._ears = [RedisLink(NodeFactory(node.settings, node.lookup)) for node in self._nodes]
        self._idle: deque[NodeConnections] = deque()
        #: All connections, also those on which a question is under way.
        self._connections: WeakRegistry[NodeConnections] = WeakRegistry()

    def call(self, request: Call) -> Reply:
        (reply,) = self.together((request,))
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        return self._ask(requests, _all_answered, hurried=False)

    def ask_nodes(self, requests: tuple[Call, ...], enough: Enough) -> list[Reply]:
        return self._ask(requests, enough, hurried=True)

    def _ask(self, requests: tuple[Call, ...], enough: Enough, hurried: bool) -> list[Reply]:
        until = min(now() + self._timeout, *(request.until for request in requests))
        connections = self._borrow()
        try:
            replies = connections.ask(requests, enough, until, self._meeting, hurried)
        except OSError as cause:  # in a forked child, whose sockets are its parent's
            connections.close()
            raise (forked(self._label) if self._fork.raised else cause) from cause
        except BaseException:
            connections.close()  # replies may still come, and are no other call's
            raise
        if self._fork.raised:  # while it waited
            raise forked(self._label)
        self._give_back(connections)
        return replies

    def _borrow(self) -> NodeConnections:
        if self._closed:
            raise (forked if self._fork.raised else closed)(self._label)
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _connect(self) -> NodeConnections:
        connections = NodeConnections(self._nodes)
        self._connections.add(connections)
        return connections

    def _give_back(self, connections: NodeConnections) -> None:
        if self._closed:
            part([connections])
        elif len(self._idle) < KEPT:
            self._idle.append(connections)
        else:
            connections.close()

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        """Listen to a node that answers: a wake is a hint, and one of them is enough."""
        ear = self._ears[self._meeting.ear(now())]
        return NodeWakes(ear, ear.listen(topics, min(until, now() + SUBSCRIBING)))

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, NodeWakes):
            woken: bool = wakes.link.park(wakes.wakes, until)
            return woken
        return super().park(wakes, until)

    def engaged(self) -> bool:
        return any(ear.engaged() for ear in self._ears)

    def after_fork(self) -> None:
        for ear in self._ears:
            ear.after_fork()
        # The sockets are the parent's as well; they are left to it, untouched.
        inherited.append((self._idle, self._connections))
        self._idle, self._closed, self._fork.raised = deque(), True, True
        for connections in self._connections.every():
            connections.abandon()

    def close(self) -> None:
        self._closed = True
        for ear in self._ears:
            ear.close()
        idle: list[NodeConnections] = []
        while self._idle:
            try:
                idle.append(self._idle.pop())
            except IndexError:
                break  # another thread was quicker
        for connections in self._connections.every():
            if connections not in idle:
                connections.shut_down()  # a question that is under way ends now
        if not idle and any(node.unheard.due for node in self._nodes):
            idle.append(self._connect())
        part(idle)


def _node(awaited: AwaitedReply) -> int:
    assert awaited.request is not None  # it is no part of a handshake
    return awaited.request.node or 0


def _all_answered(replies: Sequence[Reply]) -> bool:
    return None not in replies


#: What forked children must neither use nor close.
inherited: list[Any] = []
