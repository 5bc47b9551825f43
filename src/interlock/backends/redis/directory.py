"""What is what in a Redis database, and who is who: kinds of names, and clients.

Redisson writes no kind down, so it is read from the shape of a key and of the keys beside it.  A
name that a client asks for is taken for what it may be; a walk over the whole database
only lists what is certain, because a plain number may be of any program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...errors import StoreError
from ...model import RESERVED, Holder, use_of_owner
from ...steps import Call, Steps, call, together
from .keys import (
    client_key,
    counter_key,
    fair_queue_key,
    identity_of,
    is_ours,
    leader_key,
    leases_key,
    marker_key,
    shares_key,
)
from .scripts import ms, script, text

#: Seconds for which a client is remembered, and how often it says who it is.
REMEMBERED, REPEATED = 3600.0, 1200.0

#: Keys to look at in one step of a walk.
STRIDE = 500

_OWNER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:-?\d+")
_NUMBER = re.compile(r"-?\d{1,10}")
_BESIDE = re.compile(r"redisson_|.*(?::timeout|:rwlock_timeout:\d+)$", re.DOTALL)


class Shape(NamedTuple):
    """What can be seen of a name: see names_classify.lua."""

    type: str
    content: str
    left_ms: int
    marker: str
    leased: bool
    permits: bool
    fair: bool
    fenced: bool


def classified(shape: Shape, certain: bool) -> str | None:
    """As what a name is in use; None when it is not, or that cannot be told.  Pure."""
    if shape.type == "hash":
        return _hash(shape)
    if shape.type == "zset":
        return "barrier" if is_barrier(shape) else None
    if shape.type != "string":
        return None
    if shape.marker:
        return shape.marker.partition(" ")[0]
    if shape.leased or shape.permits:
        return "leased_semaphore" if shape.leased else "semaphore"
    if is_ours(shape.content):
        return "mutex"
    return None if certain else _string(shape)


def is_barrier(shape: Shape) -> bool:
    """Whether a sorted set is one of parties.  Pure."""
    return shape.type == "zset" and shape.marker.startswith("barrier ")


def _hash(shape: Shape) -> str | None:
    if shape.content == "mode":
        return "rwlock"
    if _OWNER.fullmatch(shape.content) is None:
        return None
    if is_ours(shape.content):
        return use_of_owner(shape.content)
    return "fair_lock" if shape.fair else "fenced_lock" if shape.fenced else "lock"


def _string(shape: Shape) -> str | None:
    """Something of another client: a mutex ends, a count does not."""
    if shape.left_ms >= 0:
        return "mutex"
    return "semaphore" if _NUMBER.fullmatch(shape.content) else None


def _keys(name: str) -> tuple[str, ...]:
    """The name and the keys beside it by which its kind is told; see names_classify.lua."""
    beside = (marker_key, leases_key, shares_key, fair_queue_key, counter_key)
    return (name, *(key(name) for key in beside))


def _shape(reply: Sequence[Any]) -> Shape:
    kind, content, left_ms, marker, others = reply
    return Shape(
        text(kind),
        text(content),
        int(left_ms),
        text(marker),
        *(each == "1" for each in text(others)),
    )


class RedisDirectory:
    """See `spi.Directory`."""

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        request = introduction(holder, until)
        yield from call(request.operation, request.keys, request.args, until)
        return REPEATED

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        return call(script("names_classify"), _keys(name), (), until, _only)

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        return list((yield from self._walk(until)).items())

    def _walk(self, until: float, node: Any = None) -> Steps[dict[str, str]]:
        """The names on a server, or on one node of several."""
        found: dict[str, str] = {}
        cursor = "0"
        while True:
            walk = Call(script("names_walk"), (), (cursor, STRIDE), until, node)
            (answer,) = raised((yield from together([walk])))
            met = [key for key in decoded(answer[2:]) if _may_be_name(key)]
            found.update((yield from _certain(self.batches(met), until)))
            if (cursor := text(answer[1])) == "0":
                return found

    def batches(self, met: Sequence[str]) -> list[Sequence[str]]:
        """What is asked about in one script: all of it."""
        return [met] if met else []


def introduction(holder: Holder, until: float) -> Call:
    """Tell a server which process this is."""
    person = {"host": holder.host, "pid": holder.pid, "program": holder.program}
    told = json.dumps({**person, "started": holder.since})
    args = (told, ms(REMEMBERED))
    return Call(script("client_introduce"), (client_key(holder.owner),), args, until)


def _only(name: str, answer: Any) -> str | None:
    return classified(_shape(answer[1]), certain=False)


def _certain(batches: Sequence[Sequence[str]], until: float) -> Steps[dict[str, str]]:
    """Those of these keys that are certainly names, and their kinds."""
    seen = yield from shapes(batches, until)
    kinds = ((name, classified(shape, certain=True)) for name, shape in seen.items())
    return {name: kind for name, kind in kinds if kind is not None}


def shapes(batches: Sequence[Sequence[str]], until: float) -> Steps[dict[str, Shape]]:
    """What can be seen of some names.  One round trip, or none."""
    if not batches:
        return {}
    each = [tuple(key for name in batch for key in _keys(name)) for batch in batches]
    calls = [Call(script("names_classify"), keys, (), until) for keys in each]
    answers = raised((yield from together(calls)))
    seen = [_shape(reply) for answer in answers for reply in answer[1:]]
    met = [name for batch in batches for name in batch]
    return dict(zip(met, seen, strict=True))


def raised(replies: list[Any]) -> list[Any]:
    """The replies, none of which is an error: the first one is raised."""
    for reply in replies:
        if isinstance(reply, StoreError):
            raise reply
    return replies


def decoded(keys: Sequence[Any]) -> list[str]:
    """The keys that are text, as every name is."""
    decoded = []
    for key in keys:
        try:
            decoded.append(key.decode() if isinstance(key, bytes) else str(key))
        except UnicodeDecodeError:
            continue
    return decoded


def _may_be_name(key: str) -> bool:
    return not key.startswith(RESERVED) and _BESIDE.match(key) is None


# --- who the holders are ------------------------------------------------------------------------


def described(
    holders: Sequence[Holder], until: float, election: str = ""
) -> Steps[tuple[Holder, ...]]:
    """Add what the clients of these owners have said of themselves, also as the leader of an
    election.  One round trip, or none."""
    identities = sorted({identity_of(each.owner) for each in holders if is_ours(each.owner)})
    if not identities:
        return tuple(holders)
    keys = [client_key(identity) for identity in identities]
    describe = script("client_describe")
    beside = [leader_key(election)] if election else []
    calls = [Call(describe, (key,), (), until) for key in (*keys, *beside)]
    replies = yield from together(calls)
    people = dict(zip(identities, map(person_of, replies), strict=False))
    found = [replace(each, **people.get(identity_of(each.owner), {})) for each in holders]
    return tuple(found if not election else [called(each, replies[-1]) for each in found])


def called(leader: Holder, reply: Any) -> Holder:
    """The same leader with what it calls itself, if that is told of this very owner."""
    if isinstance(reply, StoreError) or reply[0] == 0:
        return leader
    owner, _, participant = text(reply[1]).partition(" ")
    return replace(leader, participant=participant) if owner == leader.owner else leader


def person_of(reply: Any) -> dict[str, Any]:
    """What a client has said of itself, if it has."""
    if isinstance(reply, StoreError) or reply[0] == 0:
        return {}
    person = json.loads(reply[1])
    return {word: person[word] for word in ("host", "pid", "program")}
