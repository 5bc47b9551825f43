"""Holders that are asked, and strangers among them, as several files of tests need them."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from interlock.events import Event, Renewed

from ...support.eventually import eventually
from ...support.worlds import World

#: How the nodes of some Java begin.
JAVA = "_c_a3a30f1f-ae02-4944-b84e-7064953fffa9"

#: Long before a keeper would look by itself; only a busy machine needs so much.
AT_ONCE = 3.0

Connect: TypeAlias = Callable[[], Any]


def taken(world: World, lock: Any) -> Any:
    return world.do(lock.acquire)


def heard_by(world: World, hold: Any) -> queue.SimpleQueue[Any]:
    """What a callback of this hold is told."""
    heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
    world.do(lambda: hold.on_release_requested(heard.put))
    return heard


@contextmanager
def looks(events: list[Event]) -> Iterator[None]:
    """Wait afterwards until a keeper has looked at what was done meanwhile."""
    eventually(lambda: watches(events))
    seen = watches(events)
    yield
    eventually(lambda: watches(events) > seen)


def watches(events: list[Event]) -> int:
    return sum(isinstance(event, Renewed) for event in events)


def said(peek: Any, name: str = "k") -> list[bytes]:
    """What the nodes of a lock say, in the order of their queue."""
    nodes = sorted(peek.get_children(f"/{name}"), key=lambda node: node[-10:])
    return [peek.get(f"/{name}/{node}")[0] for node in nodes]


def stranger(peek: Any, node: str, name: str = "k") -> str:
    """A node as somebody else makes it."""
    path: str = peek.create(
        f"/{name}/{node}", b"127.0.0.1", ephemeral=True, sequence=True, makepath=True
    )
    return path
