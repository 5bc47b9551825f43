"""Who is who: each client describes itself once, for as long as its session lasts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...model import Holder
from ...steps import Steps
from . import names
from .folder import ask, parents
from .ground import Ground
from .wire import EPHEMERAL, Ask, Create, Get, No

#: Seconds after which a client looks whether its description is still there.
REPEATED = 60.0

#: Seconds that no session is longer than: a server counts its milliseconds in 31 bits.
LONGEST = 2**31 / 1000


def introduce(ground: Ground, holder: Holder, until: float) -> Steps[float]:
    """Describe this process.  One round trip."""
    person = {"host": holder.host, "pid": holder.pid, "program": holder.program}
    told = json.dumps({**person, "started": holder.since, "session": ground.vital.session_timeout})
    path = f"{ground.clients}/{holder.owner}"
    asks: list[Ask] = [*parents(ground.clients), Create(path, told.encode(), EPHEMERAL)]
    yield from ask("", asks, until)
    return REPEATED


def described(
    ground: Ground, name: str, holders: Sequence[Holder], until: float
) -> Steps[list[Holder]]:
    """The same holders with what is known of their clients.  One round trip."""
    clients = list(dict.fromkeys(filter(None, map(_client, holders))))
    if not clients:
        return list(holders)
    paths: list[Ask] = [Get(f"{ground.clients}/{each}") for each in clients]
    answers = yield from ask(name, paths, until)
    people = dict(zip(clients, (_read(answer.value) for answer in answers), strict=True))
    return [_told(each, people.get(_client(each), {})) for each in holders]


def _client(holder: Holder) -> str:
    return names.identity_of(holder.owner)


def _read(value: Any) -> dict[str, Any]:
    try:
        person = {} if value is No.MISSING else json.loads(value[0])
    except (ValueError, RecursionError):
        return {}
    return person if isinstance(person, dict) else {}


def _told(holder: Holder, person: dict[str, Any]) -> Holder:
    """Anybody may have written the description, so only what makes sense of it counts."""
    pid = person.get("pid")
    return replace(
        holder,
        host=_text(person.get("host")),
        pid=pid if type(pid) is int else 0,
        program=_text(person.get("program")),
        expires_in=_seconds(person.get("session")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: Any) -> float | None:
    return value if type(value) in (int, float) and 0 <= value <= LONGEST else None
