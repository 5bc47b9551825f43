"""The two drivers: the same loop twice, and nothing escapes it."""

from __future__ import annotations

import asyncio
import inspect
import re
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from interlock.drive import aperform, arun, perform, run
from interlock.errors import StoreUnavailable
from interlock.recipes.lock import acquire
from interlock.steps import Call, Steps, Wakes, call, elsewhere, listen, park, together

from .hand import Case, Place


class Replies:
    """A link that answers from a list; exceptions in it are raised."""

    ordered = True

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []

    def _next(self, what: str) -> Any:
        self.asked.append(what)
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def call(self, request: Call) -> Any:
        return self._next(f"call {request.operation}")

    def together(self, requests: tuple[Call, ...]) -> Any:
        return self._next(f"together {len(requests)}")

    def listen(self, topics: tuple[Any, ...], until: float) -> Any:
        return self._next(f"listen {topics}")

    def park(self, wakes: Wakes | None, until: float) -> Any:
        return self._next(f"park {until}")

    def local(self) -> Wakes:
        return Place()

    def after_fork(self) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


class AsyncReplies(Replies):
    """The same link for a loop."""

    async def call(self, request: Call) -> Any:
        return super().call(request)

    async def together(self, requests: tuple[Call, ...]) -> Any:
        return super().together(requests)

    async def listen(self, topics: tuple[Any, ...], until: float) -> Any:
        return super().listen(topics, until)

    async def park(self, wakes: Wakes | None, until: float) -> Any:
        return super().park(wakes, until)

    def hang_up(self) -> None:
        """Nothing is open."""

    async def close(self) -> None:  # type: ignore[override]
        """Nothing is open."""


class World:
    """One of the two worlds: its link and its driver."""

    def __init__(self, link: type[Replies], drive: Callable[[Steps[Any], Any], Any]) -> None:
        self.link, self.drive = link, drive

    def runner(self, link: Any) -> Callable[[Steps[Any]], Any]:
        """How a client of this world, on this link, runs steps."""
        return partial(run if self.drive is run else arun, link=link)


def run_in_loop(steps: Steps[Any], link: Any) -> Any:
    return asyncio.run(arun(steps, link))


@pytest.fixture(params=["threads", "tasks"])
def world(request: pytest.FixtureRequest) -> World:
    return World(Replies, run) if request.param == "threads" else World(AsyncReplies, run_in_loop)


# --- the drivers at work ----------------------------------------------------------------------


def everything() -> Steps[list[Any]]:
    first: object = yield from call("a", (), (), 1.0)
    second = yield from together([Call("b", (), (), 1.0), Call("c", (), (), 1.0)])
    with (yield from listen(("topic",), 0.0)) as wakes:
        woken = yield from park(wakes, 5.0)
    return [first, second, woken]


def test_every_request_reaches_the_link_and_every_reply_the_steps(world: World) -> None:
    link = world.link(1, [2, 3], Place(), True)

    assert world.drive(everything(), link) == [1, [2, 3], True]
    assert link.asked == ["call a", "together 2", "listen ('topic',)", "park 5.0"]


@pytest.mark.parametrize("error", [StoreUnavailable("x"), KeyboardInterrupt(), MemoryError()])
def test_whatever_a_link_raises_is_thrown_into_the_steps(
    world: World, error: BaseException
) -> None:
    def steps() -> Steps[str]:
        try:
            yield from call("a", (), (), 1.0)
        except BaseException as thrown:
            yield from call("withdraw", (), (), 1.0)
            return f"saw {type(thrown).__name__}"
        return "saw nothing"

    link = world.link(error, None)

    assert world.drive(steps(), link) == f"saw {type(error).__name__}"
    assert link.asked == ["call a", "call withdraw"]


def test_what_the_steps_raise_comes_out(world: World) -> None:
    error = StoreUnavailable("x")

    with pytest.raises(StoreUnavailable) as caught:
        world.drive(everything(), world.link(error))

    assert caught.value is error


def abroad() -> Steps[int]:
    """Some steps that another client runs."""
    answer: int = yield from call("x", (), (), 1.0)
    return answer


def test_steps_of_another_client_run_on_its_own_link(world: World) -> None:
    ours, theirs = world.link(), world.link(7)

    assert world.drive(elsewhere(world.runner(theirs), abroad()), ours) == 7
    assert (ours.asked, theirs.asked) == ([], ["call x"])


def test_what_another_clients_steps_raise_is_thrown_into_ours(world: World) -> None:
    def steps(theirs: Any) -> Steps[str]:
        try:
            yield from elsewhere(world.runner(theirs), abroad())
        except StoreUnavailable as failure:
            return f"saw {failure}"
        return "saw nothing"

    theirs = world.link(StoreUnavailable("their store is down"))

    assert world.drive(steps(theirs), world.link()) == "saw their store is down"


def test_something_that_is_no_request_is_refused_where_it_was_yielded(world: World) -> None:
    def steps() -> Steps[None]:
        yield "nonsense"  # type: ignore[misc]

    with pytest.raises(TypeError, match="not a request: 'nonsense'"):
        world.drive(steps(), world.link())


def test_lost_reply_in_an_acquire_ends_in_a_withdrawal(world: World) -> None:
    case, struck = Case(), KeyboardInterrupt()
    link = world.link(struck, True)

    with pytest.raises(KeyboardInterrupt):
        world.drive(acquire(case.seeking), link)

    assert link.asked == ["call attempt", "call withdraw"]


# --- what people read ---------------------------------------------------------------------------


def test_traceback_reads_as_one_stack(world: World) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        seeking = Case(persists=False).seeking
        world.drive(acquire(seeking), world.link(*[StoreUnavailable("no route")] * 2))

    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    driver = "run" if world.drive is run else "arun"
    inside = names[names.index("acquire") :]
    assert names[: names.index("acquire")][-1] == driver
    assert inside[:4] == ["acquire", "attempt", "_pause_or_raise", "attempt"]
    assert inside[4:7] == ["attempt", "call", driver]
    assert inside[-2:] == ["call", "_next"]


# --- the drivers are twins ----------------------------------------------------------------------


def body(function: Callable[..., Any]) -> str:
    """The source of a function below its docstring."""
    return inspect.getsource(function).split('"""', 2)[2]


def without_async(source: str) -> str:
    return re.sub(r"\b(?:async|await) ", "", source).replace("aperform", "perform")


def test_the_two_drivers_are_twins() -> None:
    assert without_async(body(arun)) == body(run)
    assert without_async(body(aperform)) == body(perform)
