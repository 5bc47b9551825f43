"""The vocabulary of requests, and the only functions that ever yield one.

An algorithm is a generator: it yields a request, a driver performs it on a link and
sends the reply back.  Requests are plain data; nothing in this module does any I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

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
    """Run one atomic operation of the store; the answer is worth having until `until`."""

    operation: Any
    keys: tuple[str, ...]
    args: tuple[Any, ...]
    until: float
    node: Any = None


class Together(NamedTuple):
    """Run several calls at once, on one node or many; each reply is an answer or an error."""

    calls: tuple[Call, ...]


class Listen(NamedTuple):
    """Begin to count the wakes of some topics; answered once none can be missed."""

    topics: tuple[Any, ...]


class Park(NamedTuple):
    """Wait for a wake not yet seen, or for an instant of the clock; never longer."""

    wakes: Wakes | None
    until: float


class Elsewhere(NamedTuple):
    """Let another client run an algorithm of its own, on its own link."""

    run: Callable[[Any], Any]
    steps: Any


Request: TypeAlias = Call | Together | Listen | Park | Elsewhere
Reply: TypeAlias = Any
Steps: TypeAlias = Generator[Request, Reply, R]


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


def together(calls: Sequence[Call]) -> Steps[list[Reply]]:
    """Run calls side by side.  One round trip of the slowest node."""
    replies: list[Reply] = yield Together(tuple(calls))
    return replies


def listen(topics: tuple[Any, ...]) -> Steps[Wakes]:
    """Begin to count wakes.  No round trip where the link already listens."""
    wakes: Wakes = yield Listen(topics)
    return wakes


def park(wakes: Wakes | None, until: float) -> Steps[bool]:
    """Wait; True when woken.  With no wakes it is a pause.  No round trip."""
    woken: bool = yield Park(wakes, until)
    return woken


def elsewhere(run: Callable[[Steps[R]], Any], steps: Steps[R]) -> Steps[R]:
    """Let another client run `steps`; `run` is how it does.  As many round trips as they take."""
    result: R = yield Elsewhere(run, steps)
    return result
