"""What a client says of itself is shown; nonsense that somebody wrote there harms nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock import AcquireTimeout
from interlock.model import Holder

from ...support.worlds import World
from .scenes import introduced

pytestmark = pytest.mark.server

NONSENSE = {
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe\x00",
    "too deep": b"[" * 100_000,
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "numbers": b'{"host": 7, "pid": "many", "program": ["x"], "session": "long"}',
    "nulls": b'{"host": null, "pid": null, "program": null, "session": null}',
    "no numbers": b'{"pid": NaN, "session": NaN}',
    "endless": b'{"pid": Infinity, "session": Infinity}',
    "negative": b'{"session": -1}',
    "truths": b'{"pid": true, "session": true}',
    "objects": b'{"pid": {}, "session": {}, "host": {}}',
    "too many digits": b'{"pid": ' + b"9" * 10_000 + b"}",
    "too long": b'{"session": ' + b"9" * 1_000 + b"}",
}


def rewrite(peek: Any, hold: Any, data: bytes) -> None:
    """Write something else where the client of a hold has described itself."""
    introduced(peek)
    peek.set(f"/interlock:clients/{hold.owner.rpartition(':')[0]}", data)


def seen(world: World, url: str) -> Holder:
    """The holder of the lock, by every way that tells of it."""
    other = world.connect(url)
    failure = world.start(lambda: other.lock("k").acquire(timeout=0.05)).exception(20)
    assert isinstance(failure, AcquireTimeout), failure
    (info,) = world.do(other.locks)
    assert world.do(lambda: other.inspect("k")).holders[0].owner == info.holders[0].owner
    holder: Holder = info.holders[0]
    return holder


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_about_a_client_hides_no_holder(
    world: World, zk_url: str, peek: Any, nonsense: bytes
) -> None:
    hold = world.do(world.connect(zk_url).lock("k").acquire)
    rewrite(peek, hold, nonsense)

    holder = seen(world, zk_url)

    assert (holder.owner, holder.token) == (hold.owner, hold.token)
    assert (holder.host, holder.pid, holder.program, holder.expires_in) == ("", 0, "", None)


def test_what_makes_sense_beside_nonsense_is_shown(world: World, zk_url: str, peek: Any) -> None:
    hold = world.do(world.connect(zk_url).lock("k").acquire)
    told = {"host": "far", "pid": "many", "program": 7, "session": 12.5, "more": {}}
    rewrite(peek, hold, json.dumps(told).encode())

    holder = seen(world, zk_url)

    assert (holder.host, holder.pid, holder.program) == ("far", 0, "")
    assert holder.expires_in == 12.5
