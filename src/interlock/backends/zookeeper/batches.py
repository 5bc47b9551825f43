"""Questions that are asked at once, and where their answers are gathered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...drive import now
from ...errors import StoreError
from .pulse import Pulse
from .watches import Watches
from .wire import LED, Answer, Ask, Exists, No, judged, unanswered, unpacked

#: Seconds after which nobody waits for an answer any longer, however long there would be time:
#: a connection that gives none breaks before, unless the servers behind it are at odds.
LONGEST_ANSWER = 30.0


class Batch:
    """Questions asked at once; `arrived` is called in kazoo's loop when all are answered."""

    __slots__ = ("_arrived", "asks", "done", "replies", "sent")

    def __init__(self, asks: Sequence[Ask], arrived: Callable[[], None]) -> None:
        self.asks, self._arrived = asks, arrived
        self.replies: list[Any] = [None] * len(asks)
        self.done, self.sent = False, now()

    def settle(self, place: int, reply: Any) -> None:
        """Note an answer.  What needs no server is answered before anything is sent, and the
        rest in kazoo's loop, so never in two threads at once."""
        if self.replies[place] is None:
            self.replies[place] = reply
            if None not in self.replies and not self.done:
                self.done = True
                self._arrived()

    def given_up(self, store: str) -> list[Any]:
        """What is known when nobody waits any longer."""
        late = "the server did not answer in time"
        return [
            unanswered(ask, store, late) if reply is None else reply
            for ask, reply in zip(self.asks, self.replies, strict=True)
        ]


class Way(Protocol):
    """The transport, as an answer sees it."""

    label: str
    pulse: Pulse
    watches: Watches

    @property
    def session(self) -> int: ...


class Slot:
    """Where kazoo puts one answer: it has the two methods of kazoo's own results."""

    __slots__ = ("_batch", "_place", "_transport")

    def __init__(self, transport: Way, batch: Batch, place: int) -> None:
        self._transport, self._batch, self._place = transport, batch, place

    def set(self, value: Any) -> None:
        self._settle(Answer(unpacked(value), self._transport.session))

    def set_exception(self, error: BaseException) -> None:
        transport, ask = self._transport, self._batch.asks[self._place]
        reply = judged(ask, error, transport.label)
        if isinstance(reply, StoreError):
            self._unwatch(ask)
            self._batch.settle(self._place, reply)
        else:
            self._settle(Answer(reply, transport.session))

    def _settle(self, answer: Answer) -> None:
        """The server has answered, and so has heard of us."""
        batch = self._batch
        if answer.value is No.MISSING and not isinstance(batch.asks[self._place], Exists):
            self._unwatch(batch.asks[self._place])
        self._transport.pulse.beat(batch.sent, now())
        if isinstance(batch.asks[self._place], LED):
            self._transport.pulse.led(batch.sent)
        batch.settle(self._place, answer)

    def _unwatch(self, ask: Ask) -> None:
        topic = getattr(ask, "topic", None)
        if topic is not None:
            self._transport.watches.unwatch(ask.path, topic)
