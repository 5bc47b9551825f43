"""Where a lock lives in Redis: keys, channels, and whose an owner is.  Pure.

The main key is the name itself and the keys beside it follow Redisson's prefix rule, so that
both find the same lock; everything that starts with `interlock:` is ours alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

#: What the names of wake channels start with; the client's identity follows.
WAKE = "interlock:wake:"

#: The last fencing token of a server.
TOKENS = "interlock:tokens"

# Our identities are UUIDs of version 8, Redisson's are of version 4.
_OURS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}:\d+")


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


def own_key(what: str, name: str) -> str:
    """A key of ours.  A name with a brace is its own hash tag, and must not meet the same name
    without it."""
    return prefixed(f"interlock:{what}:tagged" if "{" in name else f"interlock:{what}", name)


# --- every kind of lock -------------------------------------------------------------------------


class Keys(NamedTuple):
    """The keys and the channel that belong to a name."""

    queue: str
    #: What the keys of tombstones start with; the owner follows.
    tombs: str
    #: Where Redisson's waiters listen.
    channel: str
    #: There for a moment when it is Java's turn, and how many of ours have come since.
    courtesy: str
    turns: str
    #: The last fencing token of the server; in a cluster, of the slot.
    tokens: str = TOKENS
    #: In a cluster, the slot: the link listens on the node that serves it.
    slot: tuple[int, ...] = ()
    #: In a cluster, a key that never exists: a script that declares it, and others, is refused as
    #: a whole while the slot moves.  Otherwise it would end halfway where it makes a key anew that
    #: it has just removed, or needs one that is on the other node by then.
    never: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def keys_of(name: str) -> Keys:
    """What belongs to a name; remembered, because each acquisition needs it twice."""
    return Keys(
        own_key("queue", name),
        own_key("tomb", name) + ":",
        prefixed("redisson_lock__channel", name),
        own_key("courtesy", name),
        own_key("turns", name),
    )


class Layout(NamedTuple):
    """How names lie in the store: all on one server, or each in its slot of a cluster."""

    #: What belongs to a name; refuses a name that cannot be kept there.
    keys_of: Callable[[str], Keys]
    #: The same for a latch, whose waiters listen on a channel with a rule of its own.
    latch_keys_of: Callable[[str], Keys]
    #: Holds in one renewal script: long enough to be cheap, short enough to let others in.
    batch: int


ONE_SERVER = Layout(keys_of, keys_of, 250)


def queue_key(name: str) -> str:
    return keys_of(name).queue


def tomb_key(name: str, owner: str) -> str:
    return keys_of(name).tombs + owner


def counter_key(name: str) -> str:
    """The last token of a fenced lock; it outlives the lock, or numbers would come twice."""
    return prefixed("redisson_lock_token", name)


def fair_queue_key(name: str) -> str:
    """The owners that wait for a fair lock, Java's and ours."""
    return prefixed("redisson_lock_queue", name)


class FairKeys(NamedTuple):
    """Where those who wait for a fair lock are written down, and where they listen."""

    queue: str
    scores: str
    seen: str
    #: What the names of Java's channels start with, one for each waiter.
    channels: str


@lru_cache(maxsize=4096)
def fair_keys(name: str) -> FairKeys:
    return FairKeys(
        fair_queue_key(name),
        prefixed("redisson_lock_timeout", name),
        own_key("seen", name),
        keys_of(name).channel + ":",
    )


# --- read/write locks ---------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def tag(name: str) -> str:
    """A name in its hash tag, as Redisson has it in the names of what belongs to it."""
    return suffixed(name, "").removesuffix(":")


def hold_key(name: str, owner: str) -> str:
    """What is there while one of our owners reads; its expiry is the lease."""
    return suffixed(name, f"{owner}:rwlock_timeout:1")


def rw_channel(name: str) -> str:
    """Where Redisson's waiters for a read/write lock listen."""
    return prefixed("redisson_rwlock", name)


# --- what is counted: semaphores and latches ----------------------------------------------------


def shares_key(name: str) -> str:
    """Which owners hold how many permits of a semaphore, as far as they are ours."""
    return own_key("permits", name)


def leases_key(name: str) -> str:
    """Which permits of a leased semaphore are held, and until when; Redisson's."""
    return suffixed(name, "timeout")


def marker_key(name: str) -> str:
    """What a name is, where its key does not tell: a semaphore or a latch, and how many permits it
    has in all; a barrier, how many parties meet there, and whether they are inside."""
    return own_key("kind", name)


def leader_key(name: str) -> str:
    """The owner that leads, and what it calls itself."""
    return own_key("leader", name)


def done_key(name: str) -> str:
    """Which parties at a barrier are done, and wait for the others."""
    return own_key("done", name)


class CountKeys(NamedTuple):
    """Where the parts of a name are that is counted, besides the number itself."""

    shares: str
    leases: str
    marker: str
    #: Where Redisson's waiters for permits listen.
    channel: str


@lru_cache(maxsize=4096)
def count_keys(name: str) -> CountKeys:
    return CountKeys(
        shares_key(name),
        leases_key(name),
        marker_key(name),
        prefixed("redisson_sc", name),
    )


def latch_channel(name: str) -> str:
    """Where those who wait for a latch listen: always with braces, also around others."""
    return f"redisson_countdownlatch__channel__{{{name}}}"


# --- owners and clients -------------------------------------------------------------------------


def client_key(identity: str) -> str:
    """Where a client says who it is."""
    return f"interlock:client:{identity}"


def identity_of(owner: str) -> str:
    """The client part of an owner."""
    return owner.rpartition(":")[0]


def is_ours(owner: str) -> bool:
    """Whether an owner is of Interlock, and so wakes the next waiter when it releases."""
    return _OURS.fullmatch(owner) is not None


def change_topic(election: str) -> Topic:
    """Where observers of an election hear that another may lead."""
    return Topic(f"{WAKE}election:{election}", None)


def wake_topic(owner: str) -> Topic:
    """Where the client of `owner` hears that it is this owner's turn."""
    return Topic(WAKE + identity_of(owner), owner)
