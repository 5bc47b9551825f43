"""Where a lock lives in Redis: keys, channels, and whose an owner is.  Pure.

The main key is the name itself and its companions follow Redisson's prefix rule, so that
both find the same lock; everything that starts with `interlock:` is ours alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ...model import MARKS

#: What the names of wake channels start with; the client's identity follows.
WAKE = "interlock:wake:"

#: The last fencing token of a node.
TOKENS = "interlock:tokens"

# Our identities are UUIDs of version 8, Redisson's are of version 4.
_OURS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}:\d+")


_KINDS = {mark: kind for kind, mark in MARKS.items()}


class Topic(NamedTuple):
    """A channel, and which of its messages is meant; None means every one."""

    channel: str
    message: str | None


def prefixed(prefix: str, name: str) -> str:
    """Redisson's prefix rule: the name is its own hash tag unless it has a brace."""
    return f"{prefix}:{name}" if "{" in name else f"{prefix}:{{{name}}}"


def suffixed(name: str, suffix: str) -> str:
    """Redisson's suffix rule."""
    return f"{name}:{suffix}" if "{" in name else f"{{{name}}}:{suffix}"


class Companions(NamedTuple):
    """The keys and the channel that belong to a name."""

    queue: str
    tombs: str
    channel: str
    courtesy: str
    turns: str


@lru_cache(maxsize=4096)
def companions(name: str) -> Companions:
    """What belongs to a name; remembered, because each acquisition needs it twice."""
    tagged = _tagged(name)
    return Companions(
        prefixed(f"interlock:queue{tagged}", name),
        prefixed(f"interlock:tomb{tagged}", name) + ":",
        prefixed("redisson_lock__channel", name),
        prefixed(f"interlock:courtesy{tagged}", name),
        prefixed(f"interlock:turns{tagged}", name),
    )


def _tagged(name: str) -> str:
    """A name with a brace is its own tag, and must not meet the same name without it."""
    return ":tagged" if "{" in name else ""


def queue_key(name: str) -> str:
    return companions(name).queue


def tomb_key(name: str, owner: str) -> str:
    return companions(name).tombs + owner


def marker_key(name: str) -> str:
    """Where we write down what a name is for good: a semaphore, or a latch."""
    return prefixed(f"interlock:kind{_tagged(name)}", name)


def permits_key(name: str) -> str:
    """Who holds permits of a semaphore, as far as it is one of ours."""
    return prefixed(f"interlock:permits{_tagged(name)}", name)


def client_key(identity: str) -> str:
    return f"interlock:client:{identity}"


def redisson_channel(name: str) -> str:
    return companions(name).channel


def identity_of(owner: str) -> str:
    """The client part of an owner."""
    return owner.rpartition(":")[0]


def is_ours(owner: str) -> bool:
    """Whether an owner is of Interlock, and so will wake whoever waits."""
    return _OURS.fullmatch(owner) is not None


def use_of(owner: str) -> str:
    """As what one of our owners uses its name."""
    kind = _KINDS.get(owner[-1], "lock")
    return "rwlock" if kind in ("read", "write") else kind


def wake_topic(owner: str) -> Topic:
    """Where the client of `owner` hears that it is this owner's turn."""
    return Topic(WAKE + identity_of(owner), owner)
