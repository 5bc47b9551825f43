"""The two faces of each thing say the same: methods, parameters, docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from interlock import fence
from interlock.api.attempt import AsyncAttempt, Attempt
from interlock.api.barrier import AsyncBarrier, AsyncParty, Barrier, Party
from interlock.api.client import AsyncClient, Client
from interlock.api.connect import aconnect, connect
from interlock.api.election import (
    AsyncCandidacy,
    AsyncElection,
    AsyncTerm,
    Candidacy,
    Election,
    Term,
)
from interlock.api.hold import AsyncHold, AsyncPermit, AsyncRwHold, Hold, Permit, RwHold
from interlock.api.latch import AsyncLatch, Latch
from interlock.api.lock import AsyncLock, Lock
from interlock.api.multihold import AsyncMultiHold, MultiHold
from interlock.api.multilock import AsyncMultiLock, MultiLock
from interlock.api.rwlock import AsyncRwLock, AsyncRwSide, RwLock, RwSide
from interlock.api.semaphore import AsyncSemaphore, Semaphore
from interlock.fence import aio as async_fence
from interlock.session.keeper import AsyncKeeper, Keeper

from .test_public_api import is_promised

TWINS: list[tuple[type, type]] = [
    (Lock, AsyncLock),
    (Hold, AsyncHold),
    (Client, AsyncClient),
    (Attempt, AsyncAttempt),
    (RwLock, AsyncRwLock),
    (RwSide, AsyncRwSide),
    (RwHold, AsyncRwHold),
    (Semaphore, AsyncSemaphore),
    (Permit, AsyncPermit),
    (Latch, AsyncLatch),
    (Election, AsyncElection),
    (Candidacy, AsyncCandidacy),
    (Term, AsyncTerm),
    (Barrier, AsyncBarrier),
    (Party, AsyncParty),
    (MultiLock, AsyncMultiLock),
    (MultiHold, AsyncMultiHold),
]

SPELLINGS = {"__aenter__": "__enter__", "__aexit__": "__exit__"}


def face(kind: type) -> dict[str, Any]:
    """The public members of a class, the asyncio spellings turned into the plain ones."""
    members = {SPELLINGS.get(name, name): member for name, member in inspect.getmembers(kind)}
    return {
        name: member
        for name, member in members.items()
        if is_public(name) and not inspect.ismemberdescriptor(member)
    }


def is_public(name: str) -> bool:
    return name in SPELLINGS.values() or is_promised(name)


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    return {name: member for name, member in face(kind).items() if inspect.isfunction(member)}


def plain(annotation: object) -> str:
    """An annotation as the other world would write it."""
    text = str(annotation)
    text = re.sub(r"Coroutine\[Any, Any, ([^\[\]]+)\]", r"\1", text)
    return re.sub(r"Awaitable\[([^\[\]]+)\]", r"\1", text).replace("Async", "")


def spelled(function: Callable[..., Any]) -> tuple[list[tuple[object, ...]], str]:
    signature = inspect.signature(function)
    parameters: list[tuple[object, ...]] = [
        (each.name, each.kind, repr(each.default), plain(each.annotation))
        for each in signature.parameters.values()
    ]
    return parameters, plain(signature.return_annotation)


CASES = [
    pytest.param(method, methods(other).get(name), id=f"{kind.__name__}.{name}")
    for kind, other in TWINS
    for name, method in methods(kind).items()
]

CASES += [
    pytest.param(getattr(fence, name), getattr(async_fence, name), id=f"fence.{name}")
    for name in fence.__all__
]


@pytest.mark.parametrize(("kind", "other"), TWINS)
def test_twins_have_the_same_members(kind: type, other: type) -> None:
    assert face(kind).keys() == face(other).keys()


@pytest.mark.parametrize(("method", "other"), CASES)
def test_twin_methods_take_and_give_the_same(
    method: Callable[..., Any], other: Callable[..., Any]
) -> None:
    assert spelled(method) == spelled(other)


@pytest.mark.parametrize(("method", "other"), CASES)
def test_twin_methods_read_the_same(method: Callable[..., Any], other: Callable[..., Any]) -> None:
    assert inspect.getdoc(method) == inspect.getdoc(other)


def test_both_ways_to_connect_take_the_same() -> None:
    assert spelled(connect) == spelled(aconnect)


def test_a_missing_twin_would_be_seen() -> None:
    # Keepers are no faces: their twins differ, and the comparison must notice.
    assert spelled(Keeper.shut) != spelled(AsyncKeeper.shut)
