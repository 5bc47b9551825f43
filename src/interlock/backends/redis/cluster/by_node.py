"""Blocking calls that say which node is asked: what the steps of routing are run on.

No node may wait for another.  Those to which a connection is open are asked first, and read as
they answer.  To open one may take an answer (of the handshake, of ROLE), which a node that hangs
does not give; so where several nodes are asked, each of these is asked by a thread of its own,
which ends with the call.
"""

from __future__ import annotations

import selectors
import threading
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

from ....drive import now
from ....errors import StoreError, forked
from ....parking import pause_thread
from ....steps import Call, Reply, Wakes
from ..link import RedisLink
from ..transport.connection import BlockingConnection
from .routing import noted, unrouted
from .slot_map import Address, Destination, SlotMap


class Exchange:
    """Calls that one node is asked together, and what it answers."""

    def __init__(self, node: Destination, link: RedisLink, calls: tuple[Call, ...]) -> None:
        self.node, self._link, self._calls = node, link, calls
        #: None while there are none.
        self.answers: list[Reply] | None = None
        self._failure: BaseException | None = None

    def send(self) -> BlockingConnection | None:
        """Send the calls if that takes no answer, and say where their replies will be."""
        try:
            return None if self.node.anyway else self._link.send_at_once(self._calls)
        except StoreError as failure:
            self.answers = self._for_each(failure)
            return None

    def read(self, connection: BlockingConnection) -> None:
        """Read the replies to what was sent."""
        self._note(lambda: self._link.replies(connection, self._calls))

    def ask(self) -> None:
        """Send and read, however long it takes to open a connection."""
        if self.node.anyway:
            self.answers = [self._ask_anyway(each) for each in self._calls]
        else:
            self._note(lambda: self._link.together(self._calls))

    def begin(self) -> threading.Thread | None:
        """The same in a thread, which ends when the calls do; None where there can be none."""
        thread = threading.Thread(target=self._ask_apart, name="interlock-connect", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no more of them, or the interpreter is ending
            self.ask()
            return None
        return thread

    def end(self, thread: threading.Thread) -> None:
        """Wait for the answers that a thread awaits: not beyond the time of the calls."""
        thread.join()
        if self._failure is not None:
            raise self._failure

    def _ask_apart(self) -> None:
        try:
            self.ask()
        except BaseException as failure:
            self._failure = failure

    def _note(self, asked: Callable[[], list[Reply]]) -> None:
        try:
            self.answers = asked()
        except StoreError as failure:
            self.answers = self._for_each(failure)

    def _ask_anyway(self, request: Call) -> Reply:
        try:
            return self._link.ask_anyway(request)
        except StoreError as failure:
            return failure

    def _for_each(self, failure: StoreError) -> list[Reply]:
        """The failure of all of them, for each: each may note something of its own."""
        return [copy(failure) for _ in self._calls]


class ByNode:
    """See above."""

    ordered = False

    def __init__(self, link_to: Callable[[Address], RedisLink], slots: SlotMap) -> None:
        self._link_to, self._slots = link_to, slots

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        """Ask every node before any is read."""
        replies: list[Reply] = [unrouted(request, self._slots) for request in requests]
        groups: dict[Destination, list[int]] = {}
        for i, request in enumerate(requests):
            if request.node is not None:
                groups.setdefault(request.node, []).append(i)
        exchanges = [
            self._exchange(node, [requests[i] for i in places]) for node, places in groups.items()
        ]
        _perform(exchanges)
        for exchange, places in zip(exchanges, groups.values(), strict=True):
            if exchange.answers is None:  # its thread is the parent's
                raise forked(self._slots.label)
            for i, answer in zip(places, exchange.answers, strict=True):
                replies[i] = noted(answer, exchange.node.address, self._slots)
        return replies

    def _exchange(self, node: Destination, requests: list[Call]) -> Exchange:
        calls = tuple(map(self._slots.sharded_call, requests))
        return Exchange(node, self._link_to(node.address), calls)

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        """Listen on the node that stands before the topics."""
        address, *plain = topics
        return self._link_to(address).listen(tuple(plain), until)

    def park(self, wakes: None, until: float) -> bool:
        return pause_thread(until)


def _perform(exchanges: Sequence[Exchange]) -> None:
    """Ask all nodes side by side, until each has answered or the time of its calls is up."""
    if len(exchanges) == 1:
        exchanges[0].ask()
        return
    sent: dict[BlockingConnection, Exchange] = {}
    try:
        for each in exchanges:
            if (connection := each.send()) is not None:
                sent[connection] = each
        waiting = {*exchanges} - {*sent.values()}
        threads = {each: each.begin() for each in waiting if each.answers is None}
        for connection in as_they_answer(list(sent)):
            sent.pop(connection).read(connection)
    finally:
        for connection in sent:  # interrupted: their replies are no other call's
            connection.close()
    for each, thread in threads.items():
        if thread is not None:
            each.end(thread)


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
