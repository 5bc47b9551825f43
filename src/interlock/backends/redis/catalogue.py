"""What is what in a Redis database: which keys are locks, and of what kind.

Redisson writes no kind down, so it is read from the shape of a key and of its companions.  A
name that somebody asks for is given the benefit of the doubt; a walk over the whole database
only lists what is certain, because a plain number may be anybody's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import StoreError
from ...model import RESERVED, Holder
from ...steps import Call, Steps, call, together
from . import names
from .scripts import script

#: Seconds for which a client is remembered, and how often it says who it is.
REMEMBERED, REPEATED = 3600.0, 1200.0

#: Keys to look at in one step of a walk.
STRIDE = 500

_OWNER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:-?\d+")
_NUMBER = re.compile(r"-?\d{1,10}")
_COMPANION = re.compile(r"redisson_|.*(?::timeout|:rwlock_timeout:\d+)$", re.DOTALL)


class Sight(NamedTuple):
    """What can be seen of a name."""

    type: str
    text: str
    left_ms: int
    marker: str
    leased: bool
    permits: bool
    fair: bool
    fenced: bool


def judged(sight: Sight, certain: bool) -> str | None:
    """As what a name is in use; None when it is not, or nobody can tell.  Pure."""
    if sight.type == "hash":
        return _hash(sight)
    if sight.type != "string":
        return None
    if sight.marker:
        return sight.marker.partition(" ")[0]
    if sight.leased or sight.permits:
        return "leased_semaphore" if sight.leased else "semaphore"
    if names.is_ours(sight.text):
        return "mutex"
    return None if certain else _string(sight)


def _hash(sight: Sight) -> str | None:
    if sight.text == "mode":
        return "rwlock"
    if _OWNER.fullmatch(sight.text) is None:
        return None
    if names.is_ours(sight.text):
        return names.use_of(sight.text)
    return "fair_lock" if sight.fair else "fenced_lock" if sight.fenced else "lock"


def _string(sight: Sight) -> str | None:
    """Something of another client: a mutex ends, a count does not."""
    if sight.left_ms >= 0:
        return "mutex"
    return "semaphore" if _NUMBER.fullmatch(sight.text) else None


def _keys(name: str) -> tuple[str, ...]:
    """The name and the companions by which its kind is told; see names_classify.lua."""
    return (
        name,
        names.marker_key(name),
        names.suffixed(name, "timeout"),
        names.permits_key(name),
        names.prefixed("redisson_lock_queue", name),
        names.prefixed("redisson_lock_token", name),
    )


def _sight(reply: Sequence[Any]) -> Sight:
    kind, text, left_ms, marker, others = reply
    return Sight(
        _text(kind),
        _text(text),
        int(left_ms),
        _text(marker),
        *(each == "1" for each in _text(others)),
    )


def _text(part: Any) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)


class RedisDirectory:
    """See `stores.Directory`."""

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        person = {"host": holder.host, "pid": holder.pid, "program": holder.program}
        text = json.dumps({**person, "started": holder.since})
        key = names.client_key(holder.owner)
        args = (text, int(REMEMBERED * 1000))
        yield from call(script("client_introduce"), (key,), args, until)
        return REPEATED

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        return call(script("names_classify"), _keys(name), (), until, _only)

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        found, cursor = {}, "0"
        while True:
            walk = (cursor, STRIDE)
            answer: Any = yield from call(script("names_walk"), (), walk, until)
            met = [key for key in _decoded(answer[2:]) if _may_be_name(key)]
            found.update((yield from _classified(met, until)))
            if (cursor := _text(answer[1])) == "0":
                return list(found.items())


def _only(name: str, answer: Any) -> str | None:
    return judged(_sight(answer[1]), certain=False)


def _classified(met: Sequence[str], until: float) -> Steps[dict[str, str]]:
    """Those of these keys that are certainly names, and their kinds."""
    if not met:
        return {}
    keys = tuple(key for name in met for key in _keys(name))
    (answer,) = yield from together([Call(script("names_classify"), keys, (), until)])
    if isinstance(answer, StoreError):
        raise answer
    kinds = (judged(_sight(reply), certain=True) for reply in answer[1:])
    return {name: kind for name, kind in zip(met, kinds, strict=True) if kind is not None}


def _decoded(keys: Sequence[Any]) -> list[str]:
    """The keys that are text; a name always is."""
    texts = []
    for key in keys:
        try:
            texts.append(key.decode() if isinstance(key, bytes) else str(key))
        except UnicodeDecodeError:
            continue
    return texts


def _may_be_name(key: str) -> bool:
    return not key.startswith(RESERVED) and _COMPANION.match(key) is None
