"""The scripts of a read/write lock on a node say the same as its twin in Python."""

from __future__ import annotations

import time
from random import Random
from typing import Any

import pytest

from interlock.backends.redis.keys import hold_key, tag
from interlock.backends.redis.redlock.locks import GUARD, MARKER, beside_key
from interlock.backends.redis.redlock.rwlocks import as_sent, writers_key
from interlock.steps import Call
from tests.sim.quorum.nodes import Rules
from tests.sim.quorum.rw_nodes import SimRwNode

from .test_nodes_agree import Forgiving

pytestmark = pytest.mark.server

NAME, LONG = "orders", 600_000

KEYS: dict[str, tuple[int, ...]] = {
    "quorum_read_attempt": (0, 1, 2, 3, 4, 5, 6),
    "quorum_write_attempt": (0, 1, 2, 3, 4, 5, 6),
    "quorum_rw_raise": (0, 1, 3),
    "quorum_rw_release": (0, 1, 2, 4),
    "quorum_rw_renew": (0, 1, 2, 3, 5, 6),
    "quorum_rw_downgrade": (0, 3),
    "quorum_rw_look": (0, 1),
}


def drawn(random: Random) -> Call:
    """Any operation of any owner."""
    owner, number = random.choice("abc"), random.randint(1, 4)
    ahead = int((time.time() + random.choice((-5, 0.3))) * 1_000_000)
    limits, braced = (LONG, 0), tag(NAME)
    verb, args = random.choice(
        [
            ("read_attempt", (owner, LONG, number, ahead, *limits)),
            ("read_attempt", (owner, LONG, number, ahead, *limits)),
            (
                "write_attempt",
                (owner, LONG, number, ahead, random.choice((0, LONG)), braced, *limits),
            ),
            ("rw_raise", (owner, ahead)),
            ("rw_release", (owner, braced, LONG, "", number)),
            ("rw_release", (owner, braced, LONG, "")),
            ("rw_renew", (LONG, number + 2, random.choice((owner, f"{owner}:write")), *limits)),
            ("rw_downgrade", (owner, LONG, number + 2, "channel")),
        ]
    )
    places = (NAME, beside_key(NAME), f"tomb:{owner}", hold_key(NAME, owner), writers_key(NAME))
    every, name = (*places, MARKER, GUARD), f"quorum_{verb}"
    return Call(as_sent(name), tuple(every[place] for place in KEYS[name]), args, 0.0)


def essence(reply: list[Any], name: str, blocked_by: set[str]) -> list[Any]:
    """What of a reply does not depend on the very microsecond; of several holders any is told."""
    if not name.endswith("_attempt"):
        return reply[:1] if name == "quorum_rw_raise" else [int(part) for part in reply]
    return [reply[0], reply[3] in blocked_by if reply[0] == 0 else None]


def test_the_scripts_and_their_twin_agree(peek: Any) -> None:
    for seed in range(80):
        random, history = Random(seed), []
        peek.flushall()
        twin = SimRwNode(0, time.time, 1.0, 0.0, Rules())
        twin.records.gone = Forgiving()
        for _ in range(25):
            call = drawn(random)
            name = call.operation.name
            real = peek.eval(call.operation.text, len(call.keys), *call.keys, *call.args)
            ours = twin.execute(call)
            history.append((name, call.args))
            records = twin.records
            told = {*records.readers, *records.marks, f"{records.holder}:write"}
            assert essence(real, name, told) == essence(ours, name, told), (seed, history)
            assert held(peek) == known(records), (seed, history)


def held(peek: Any) -> tuple[Any, ...]:
    """Who reads, writes and waits to write on the server."""
    fields = {*peek.hkeys(NAME)} - {"mode"}
    return fields, {*peek.zrange(writers_key(NAME), 0, -1)}


def known(records: Any) -> tuple[Any, ...]:
    """And in its twin."""
    writer = set() if records.holder is None else {f"{records.holder}:write"}
    return {*records.readers} | writer, {*records.marks}
