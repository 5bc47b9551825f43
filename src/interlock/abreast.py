"""Algorithms of several clients, each on its own link, in one thread or task.

Theory of operation.  Each algorithm is a lane.  What a lane asks of its store is sent without
waiting for the answer, so that all stores work at the same time; the lane whose answer comes
first goes on first, and a store that hangs holds up none of the others.  What cannot be sent in
this way is performed when everything else was answered, or has had a moment: a call on a link that
has to wait for its answer, a pause.

Letting go.  Whether the lanes that are still open are worth waiting for is a question to the
caller, each time that one has gone on.  If they are not, what they have asked is not awaited any
more: each lane is told that the outcome is unknown, whatever it asks then is refused, and so it
leaves what is to be done to the keeper of its client.

Interruptions.  An interruption is raised in each of them, once, and goes on when all have ended;
before, what is under way is settled, as for a single call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Generic, TypeAlias, TypeVar

from .errors import OutcomeUnknown, StoreUnavailable
from .steps import (
    Call,
    Flight,
    Lane,
    OfLink,
    Request,
    Steps,
    Together,
    arrival,
    begin,
    forget,
    interrupt,
    settle,
    via,
)

R = TypeVar("R")

#: Says of the outcomes so far, None where there is none yet, until when the others are worth
#: waiting for; `math.inf` where they are in any case.
Patience: TypeAlias = "Callable[[Sequence[R | BaseException | None]], float]"


#: Seconds for which a request that has to be waited for gives way to what was sent: a connection
#: that is just being opened makes no progress meanwhile.
GIVE_WAY = 0.25


class ClientLane(Lane[R], Generic[R]):
    """The algorithm of one client, and what it has sent."""

    __slots__ = ("client", "flight", "gives_way_until", "waits")

    def __init__(self, client: OfLink, steps: Steps[R]) -> None:
        super().__init__(steps)
        self.client, self.flight = client, None
        #: Whether its request has to be performed by waiting for it.
        self.waits = False
        self.gives_way_until = 0.0

    flight: Flight | None

    @property
    def landed(self) -> bool:
        return self.flight is not None and self.flight.replies is not None

    def land(self) -> None:
        """Hand over the replies to what was sent."""
        flight, self.flight = self.flight, None
        replies = None if flight is None else flight.replies
        if isinstance(replies, Exception):
            self.fail(replies)
        elif replies is not None:
            self.hear(replies)

    def let_go(self) -> None:
        """Wait no longer for what it has asked, and let it ask for nothing more."""
        why: Exception = StoreUnavailable("it was not asked: the others were enough")
        if self.flight is not None:
            why, self.flight = self.flight.leave(), None
        while self.open:
            self.fail(why)
            why = OutcomeUnknown("the answer was not awaited")


def abreast(
    clients: Sequence[OfLink],
    *several: Steps[R],
    clock: Callable[[], float],
    patience: Patience[R],
) -> Steps[list[R | BaseException]]:
    """Run algorithms, each on the link of its client, until all have ended or are let go; answers
    what each returned or raised, in their order.

    Cost: as many round trips as the longest of them that is worth waiting for.
    """
    lanes = [ClientLane(*pair) for pair in zip(clients, several, strict=True)]
    struck: BaseException | None = None
    heard: list[BaseException] = []
    while True:
        try:
            if struck is not None:
                yield from _interrupt_all(lanes, struck)
                struck = None
            while any(lane.open for lane in lanes):
                outcomes = [None if lane.open else lane.outcome for lane in lanes]
                limit = math.inf if heard else patience(outcomes)
                if clock() < limit:
                    yield from _advance(lanes, limit, clock)
                else:
                    for lane in lanes:
                        lane.let_go()
            break
        except GeneratorExit:
            with ExitStack() as ends:
                for lane in lanes:
                    ends.callback(lane.steps.close)
            raise
        except BaseException as interruption:
            if not any(interruption is each for each in heard):  # else one has ended with it
                heard.append(interruption)
                struck = interruption
    try:
        if heard:
            raise heard[0]
        return [lane.outcome for lane in lanes]  # type: ignore[misc]  # each has ended
    finally:
        outcomes = []
        heard.clear()
        forget(lanes)


def _interrupt_all(lanes: Sequence[ClientLane[R]], interruption: BaseException) -> Steps[None]:
    """Settle what is under way, and raise the interruption in each of them."""
    yield from settle([lane.flight for lane in lanes if lane.flight is not None])
    for lane in lanes:
        lane.flight = None
        interrupt(lane, interruption)


def _advance(
    lanes: Sequence[ClientLane[R]], limit: float, clock: Callable[[], float]
) -> Steps[None]:
    """Send what can be sent, and go on where that is possible, or wait until it is."""
    for lane in lanes:
        if lane.open and not lane.begun:
            lane.go()
        if lane.open and lane.flight is None and not lane.waits:
            yield from _send(lane)
            lane.gives_way_until = clock() + GIVE_WAY
    flights = [lane.flight for lane in lanes if lane.flight is not None]
    if landed := [lane for lane in lanes if lane.landed]:
        for lane in landed:
            lane.land()
    elif waiting := [lane for lane in lanes if lane.open and lane.waits]:
        if flights and clock() < waiting[0].gives_way_until:
            yield from arrival(flights, min(limit, waiting[0].gives_way_until))
        else:
            yield from _perform(waiting[0], limit)
    elif flights:
        yield from arrival(flights, limit)


def _send(lane: ClientLane[R]) -> Steps[None]:
    """Send what it asks; what cannot be sent is left to `_perform`."""
    if not lane.calls or lane.enough is not None:
        lane.waits = True
        return
    try:
        lane.flight = yield from begin(lane.client, lane.calls)
        lane.waits = lane.flight is None
    except Exception as failure:
        lane.fail(failure)


def _perform(lane: ClientLane[R], limit: float) -> Steps[None]:
    """Perform what it asks by waiting for it, as long as that is worth it."""
    lane.waits = False
    assert lane.request is not None, "an open lane has one"
    try:
        reply = yield from via(lane.client, _within(lane.request, limit))
    except Exception as failure:
        lane.fail(failure)
    else:
        lane.go(reply)


def _within(request: Request, limit: float) -> Request:
    """The same; the answer to a call is not worth having after the limit."""
    if type(request) is Call:
        return request._replace(until=min(request.until, limit))
    if type(request) is Together:
        calls = (each._replace(until=min(each.until, limit)) for each in request.calls)
        return request._replace(calls=tuple(calls))
    return request
