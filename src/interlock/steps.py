"""The vocabulary of requests, and the only functions that ever yield one.

An algorithm is a generator: it yields a request, a driver performs it on a link and
sends the reply back.  Requests are plain data; nothing in this module does any I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from copy import copy
from itertools import islice
from types import GeneratorType, TracebackType
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from .errors import StoreError

R = TypeVar("R")


class Wakes(Protocol):
    """A place where wakes for some topics are counted; leaving it is local and cheap."""

    def __enter__(self) -> Wakes: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def wake(self) -> None: ...


class Call(NamedTuple):
    """Run one atomic operation of the store; the answer is worth having until `until`.

    `node` says which of several servers is asked, where the store is more than one.
    """

    operation: Any
    keys: tuple[str, ...]
    args: tuple[Any, ...]
    until: float
    node: Any = None


#: Says of the replies so far, None where there is none yet, whether the others can make no
#: difference any more.
Enough: TypeAlias = "Callable[[Sequence[Reply]], bool]"


class Together(NamedTuple):
    """Run several calls at once, on one node or many; each reply is an answer or an error.

    With `enough`, which only stores of several nodes say, no reply is awaited once it says so: the
    outcome of a call without one is unknown, and its reply is never taken for another call's.
    """

    calls: tuple[Call, ...]
    enough: Enough | None = None


class Listen(NamedTuple):
    """Begin to count the wakes of some topics; answered once none can be missed, or when it is
    `until`: a waiter that listens by then asks again all the same."""

    topics: tuple[Any, ...]
    until: float


class Park(NamedTuple):
    """Wait for a wake not yet seen, or for an instant of the clock; never longer."""

    wakes: Wakes | None
    until: float


class Elsewhere(NamedTuple):
    """Let another client run an algorithm of its own, on its own link."""

    run: Callable[[Any], Any]
    steps: Any


class Flight(Protocol):
    """Calls that were sent, and whose replies are awaited apart."""

    @property
    def replies(self) -> list[Reply] | Exception | None:
        """The replies, or what was raised in their place; None while there is neither."""
        ...

    def leave(self) -> Exception:
        """Wait for them no longer; answers what is known of them then: nothing (OutcomeUnknown),
        or that they were never sent."""
        ...


class OfLink(Protocol):
    """A client, as it is seen here: what has a link, which a fork replaces."""

    link: Any


class Begin(NamedTuple):
    """Send calls to the store of a client and go on: answered with a Flight, or with None where
    its link can only be asked by waiting for the answer."""

    client: OfLink
    calls: tuple[Call, ...]


class Arrival(NamedTuple):
    """Wait until one of several flights has its replies, or for an instant of the clock."""

    flights: tuple[Flight, ...]
    until: float


class Settle(NamedTuple):
    """Flights were interrupted: wait for their replies where a task must (see `tasks.Sent`), and
    leave them where it is a thread's."""

    flights: tuple[Flight, ...]


class Via(NamedTuple):
    """Perform a request on the link of another client."""

    client: OfLink
    request: Request


Request: TypeAlias = Call | Together | Listen | Park | Elsewhere | Begin | Arrival | Settle | Via
Reply: TypeAlias = Any
Steps: TypeAlias = Generator[Request, Reply, R]


def finished(steps: Steps[Any]) -> bool:
    """Whether an algorithm has ended, so that what was raised is its own last word.

    Otherwise it is still suspended and must be told, wherever the exception struck: a
    Ctrl-C may arrive in the driver itself, after the store has said yes.
    """
    return isinstance(steps, GeneratorType) and steps.gi_frame is None


def as_it_is(name: str, reply: Reply) -> Reply:
    """The answer needs no reading."""
    return reply


def call(
    operation: Any,
    keys: tuple[str, ...],
    args: tuple[Any, ...],
    until: float,
    read: Callable[[str, Reply], R] = as_it_is,
) -> Steps[R]:
    """Run one atomic operation, and let `read` make sense of its answer.  One round trip.

    `read` is told the name, which is the first of the keys, for what it may have to say.
    """
    return read(keys[0] if keys else "", (yield Call(operation, keys, args, until)))


def nothing() -> Steps[None]:
    """Do nothing at all.  No round trip."""
    yield from ()


def answered(result: R) -> Steps[R]:
    """What is known already.  No round trip."""
    return result
    yield


def together(calls: Sequence[Call], enough: Enough | None = None) -> Steps[list[Reply]]:
    """Run calls side by side.  One round trip of the slowest node, or of those that are enough."""
    replies: list[Reply] = yield Together(tuple(calls), enough)
    return replies


def listen(topics: tuple[Any, ...], until: float) -> Steps[Wakes]:
    """Begin to count wakes.  No round trip where the link already listens."""
    wakes: Wakes = yield Listen(topics, until)
    return wakes


def park(wakes: Wakes | None, until: float) -> Steps[bool]:
    """Wait; True when woken.  With no wakes it is a pause.  No round trip."""
    woken: bool = yield Park(wakes, until)
    return woken


def elsewhere(run: Callable[[Steps[R]], Any], steps: Steps[R]) -> Steps[R]:
    """Let another client run `steps`; `run` is how it does.  As many round trips as they take."""
    result: R = yield Elsewhere(run, steps)
    return result


def outside(run: Callable[[Any], Any], argument: Any) -> Steps[Any]:
    """Run code of the user's, in this thread or awaited by this task.  No round trip."""
    return (yield Elsewhere(run, argument))


def begin(client: OfLink, calls: tuple[Call, ...]) -> Steps[Flight | None]:
    """Send calls to the store of a client; their replies are awaited apart.  No round trip."""
    flight: Flight | None = yield Begin(client, calls)
    return flight


def arrival(flights: Sequence[Flight], until: float) -> Steps[None]:
    """Wait until one of them has its replies.  What is left of the quickest round trip."""
    yield Arrival(tuple(flights), until)


def settle(flights: Sequence[Flight]) -> Steps[None]:
    """Let what was interrupted come to its end.  What is left of the slowest round trip, where it
    is a task's."""
    yield Settle(tuple(flights))


def via(client: OfLink, request: Request) -> Steps[Reply]:
    """Perform a request on the link of another client.  The cost is that of the request."""
    reply: Reply = yield Via(client, request)
    return reply


def at_node(node: int, steps: Steps[R]) -> Steps[R]:
    """Let one node of several do all that an algorithm asks of the store.  No further cost."""
    move: Callable[[Any], Request] = steps.send
    what: Any = None
    while True:
        try:
            request = move(what)
        except StopIteration as end:
            result: R = end.value
            return result
        try:
            move, what = steps.send, (yield _at(node, request))
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as error:
            move, what = steps.throw, error


def _at(node: int, request: Request) -> Request:
    if type(request) is Call:
        return request._replace(node=node)
    if type(request) is Together:
        calls = tuple(each._replace(node=node) for each in request.calls)
        return request._replace(calls=calls)
    return request


# --- several algorithms at once -----------------------------------------------------------


class Lane(Generic[R]):
    """One of several algorithms that run side by side: what it asks for, and how it ended."""

    __slots__ = ("open", "outcome", "request", "steps")

    def __init__(self, steps: Steps[R]) -> None:
        self.steps, self.open = steps, True
        self.request: Request | None = None
        self.outcome: R | BaseException | None = None

    @property
    def begun(self) -> bool:
        """Whether it waits for the reply to a request; asked of the algorithm itself, because a
        Ctrl-C may strike before we have noted anything."""
        return not isinstance(self.steps, GeneratorType) or self.steps.gi_suspended

    @property
    def calls(self) -> tuple[Call, ...]:
        """What it asks of the store now; nothing when it wants something else."""
        if type(self.request) is Call:
            return (self.request,)
        return self.request.calls if type(self.request) is Together else ()

    @property
    def enough(self) -> Enough | None:
        """When it needs no further replies; None when it needs all of them."""
        return self.request.enough if type(self.request) is Together else None

    def hear(self, replies: list[Reply]) -> None:
        """Hand over the replies to its calls; the failure of a lone call is raised in it."""
        if type(self.request) is Together:
            self.go(replies)
        elif isinstance(replies[0], Exception):
            self.fail(replies[0])
        else:
            self.go(replies[0])

    def go(self, reply: Reply = None) -> None:
        """Go on to the next request, or begin."""
        self._move(self.steps.send, reply)

    def fail(self, error: BaseException) -> None:
        """Raise an error where it waits; it begins before, so that it can clean up."""
        try:
            if not self.begun:
                self.go()
            if self.open:
                self._move(self.steps.throw, error)
        finally:
            del error  # which knows this frame, and would keep alive all that is in it

    def _move(self, move: Callable[[Any], Request], what: Any) -> None:
        try:
            self.request = move(what)
        except StopIteration as end:
            self._end(end.value)
        except BaseException as error:
            if not finished(self.steps):
                raise  # it struck in here: this one must hear of it as well
            self._end(error)
            if not isinstance(error, Exception):
                raise  # the others must hear of it
        finally:
            del what

    def _end(self, outcome: R | BaseException) -> None:
        self.open, self.outcome = False, outcome


def side_by_side(*several: Steps[R]) -> Steps[list[R | BaseException]]:
    """Run algorithms in lockstep; answers what each returned or raised, in their order.

    What they ask of the store goes in one `Together`, and each gets its own replies; anything
    else is performed for one after another.  An interruption is raised in each of them, once,
    and goes on when all have ended.  Cost: as many round trips as the longest of them.
    """
    lanes = [Lane(each) for each in several]
    struck: BaseException | None = None
    while True:
        try:
            while going := [lane for lane in lanes if lane.open]:
                yield from _round(going)
            break
        except GeneratorExit:
            with ExitStack() as ends:
                for lane in lanes:
                    ends.callback(lane.steps.close)
            raise
        except BaseException as interruption:
            struck = struck or interruption
            for lane in lanes:
                interrupt(lane, interruption)
    try:
        if struck is not None:
            raise struck
        return [lane.outcome for lane in lanes]  # type: ignore[misc]  # each has ended
    finally:
        del struck
        forget(lanes)


def interrupt(lane: Lane[Any], interruption: BaseException) -> None:
    """Raise an interruption in an algorithm, which goes on when all have ended."""
    trace = interruption.__traceback__
    try:
        if lane.open:
            lane.fail(interruption)
    except BaseException:
        pass  # it has ended with it
    finally:
        interruption.__traceback__ = trace  # what it has passed by does not live as long as it


def forget(lanes: Sequence[Lane[Any]]) -> None:
    """Let go of outcomes that have been told: a failure knows the lane that it has ended, and the
    lane the failure, so that both would live until garbage is collected."""
    for lane in lanes:
        lane.outcome = None


def _round(lanes: list[Lane[Any]]) -> Steps[None]:
    """Let each algorithm go one request further."""
    for lane in lanes:
        if not lane.begun:
            lane.go()
    going = [lane for lane in lanes if lane.open]
    asking = [lane for lane in going if lane.calls]
    if len(asking) > 1:  # one alone needs no company
        going = [lane for lane in going if not lane.calls]
        yield from _ask_together(asking)
    for lane in going:
        yield from _perform(lane)


def _ask_together(lanes: list[Lane[Any]]) -> Steps[None]:
    try:
        replies = yield from together(
            [call for lane in lanes for call in lane.calls], _enough_for_all(lanes)
        )
    except Exception as failure:
        for lane in lanes:
            lane.fail(_twin(failure))
        return
    each = iter(replies)
    for lane in lanes:
        lane.hear(list(islice(each, len(lane.calls))))


def _enough_for_all(lanes: list[Lane[Any]]) -> Enough | None:
    """When none of them needs further replies; None when one of them needs all."""
    needs = [(len(lane.calls), lane.enough) for lane in lanes]
    if all(enough is None for _, enough in needs):
        return None

    def enough_for_all(replies: Sequence[Reply]) -> bool:
        each = iter(replies)
        return all(_has_enough(list(islice(each, count)), enough) for count, enough in needs)

    return enough_for_all


def _has_enough(replies: list[Reply], enough: Enough | None) -> bool:
    return enough(replies) if enough is not None else None not in replies


def _perform(lane: Lane[Any]) -> Steps[None]:
    try:
        reply = yield lane.request  # type: ignore[misc]  # an open lane has one
    except Exception as failure:
        lane.fail(failure)
    else:
        lane.go(reply)


def _twin(failure: Exception) -> Exception:
    """A failure of several at once, for one of them: each may note something of its own."""
    if not isinstance(failure, StoreError):
        return failure
    twin = copy(failure)
    twin.__cause__ = failure.__cause__
    return twin
