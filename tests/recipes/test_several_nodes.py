"""Asking several nodes: which one is asked, and when the replies are enough."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from interlock.drive import arun, run
from interlock.errors import StoreUnavailable
from interlock.steps import (
    Call,
    Enough,
    Park,
    Steps,
    Together,
    at_node,
    call,
    park,
    side_by_side,
    together,
)


def ask(node: int) -> Call:
    return Call(f"ask{node}", (), (), 1.0, node)


def at_least(count: int) -> Enough:
    return lambda replies: sum(reply is not None for reply in replies) >= count


def asking(nodes: Sequence[int], enough: Enough | None) -> Steps[list[Any]]:
    replies = yield from together([ask(node) for node in nodes], enough)
    return replies


class Nodes:
    """A link of several nodes, that answers as told."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def together(self, requests: tuple[Call, ...]) -> list[Any]:
        self.asked.append(f"all of {len(requests)}")
        return [request.node for request in requests]

    def ask_nodes(self, requests: tuple[Call, ...], enough: Enough) -> list[Any]:
        self.asked.append(f"enough of {len(requests)}")
        return [request.node for request in requests]


class AsyncNodes(Nodes):
    async def together(self, requests: tuple[Call, ...]) -> list[Any]:  # type: ignore[override]
        return super().together(requests)

    async def ask_nodes(  # type: ignore[override]
        self, requests: tuple[Call, ...], enough: Enough
    ) -> list[Any]:
        return super().ask_nodes(requests, enough)


def test_only_who_says_what_is_enough_asks_for_it() -> None:
    link: Any = Nodes()

    assert run(asking([0, 1], None), link) == [0, 1]
    assert run(asking([0, 1, 2], at_least(2)), link) == [0, 1, 2]
    assert link.asked == ["all of 2", "enough of 3"]


def test_it_is_the_same_in_a_loop() -> None:
    link: Any = AsyncNodes()

    assert asyncio.run(arun(asking([0, 1], None), link)) == [0, 1]
    assert asyncio.run(arun(asking([0, 1, 2], at_least(2)), link)) == [0, 1, 2]
    assert link.asked == ["all of 2", "enough of 3"]


# --- side by side --------------------------------------------------------------------------------


def merged(*several: Steps[Any]) -> Together:
    request = next(side_by_side(*several))
    assert isinstance(request, Together)
    return request


def test_what_is_enough_for_all_is_enough() -> None:
    request = merged(asking([0, 1, 2], at_least(2)), asking([0, 1, 2], at_least(1)))

    assert request.enough is not None
    assert [each.node for each in request.calls] == [0, 1, 2, 0, 1, 2]
    assert not request.enough([1, None, None, 1, None, None])
    assert not request.enough([1, 1, None, None, None, None])
    assert request.enough([1, 1, None, None, None, 1])


def test_who_does_not_say_needs_all_replies() -> None:
    request = merged(asking([0, 1], None), asking([0, 1, 2], at_least(1)))

    assert request.enough is not None
    assert not request.enough([1, None, 1, None, None])
    assert request.enough([1, 1, None, None, 1])


def test_where_none_says_it_all_replies_are_needed() -> None:
    assert merged(asking([0], None), asking([1], None)).enough is None


# --- one node for all ----------------------------------------------------------------------------


def everything() -> Steps[str]:
    first: object = yield from call("a", (), (), 1.0)
    second = yield from together([Call("b", (), (), 1.0)])
    yield from park(None, 5.0)
    try:
        yield from call("c", (), (), 1.0)
    except StoreUnavailable as failure:
        return f"{first} {second} {failure}"
    return "heard nothing"


def test_one_node_does_all_that_an_algorithm_asks_for() -> None:
    steps = at_node(3, everything())

    assert next(steps) == Call("a", (), (), 1.0, 3)
    assert steps.send(1) == Together((Call("b", (), (), 1.0, 3),))
    assert steps.send([2]) == Park(None, 5.0)
    assert steps.send(False) == Call("c", (), (), 1.0, 3)
    with pytest.raises(StopIteration) as end:
        steps.throw(StoreUnavailable("gone"))
    assert end.value.value == "1 [2] gone"


def test_an_algorithm_at_a_node_is_closed_with_it() -> None:
    closed = []

    def careful() -> Steps[None]:
        try:
            yield from call("a", (), (), 1.0)
        finally:
            closed.append(True)

    steps = at_node(0, careful())
    next(steps)
    steps.close()

    assert closed == [True]
