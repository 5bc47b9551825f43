"""Who is who: what the clients have said of themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import StoreError
from ...model import Holder
from ...steps import Call, Steps, together
from . import names
from .scripts import script


def described(holders: Sequence[Holder], until: float) -> Steps[tuple[Holder, ...]]:
    """Add what the clients of these owners have said of themselves.  One round trip, or none."""
    identities = sorted({names.identity_of(each.owner) for each in holders if _ours(each)})
    if not identities:
        return tuple(holders)
    calls = [_question(identity, until) for identity in identities]
    replies = yield from together(calls)
    people = dict(zip(identities, map(_person, replies), strict=True))
    return tuple(
        replace(each, **people.get(names.identity_of(each.owner), {})) for each in holders
    )


def _ours(holder: Holder) -> bool:
    return names.is_ours(holder.owner)


def _question(identity: str, until: float) -> Call:
    return Call(script("client_describe"), (names.client_key(identity),), (), until)


def _person(reply: Any) -> dict[str, Any]:
    """What a client has said of itself; nothing if nobody knows."""
    if isinstance(reply, StoreError) or reply[0] == 0:
        return {}
    person = json.loads(reply[1])
    return {word: person[word] for word in ("host", "pid", "program")}
