"""The scripts of a node say the same as its twin in Python, which the simulation walks on."""

from __future__ import annotations

import time
from random import Random
from typing import Any

import pytest

from interlock.backends.redis.redlock.locks import GUARD, MARKER, beside_key
from interlock.backends.redis.scripts import script
from interlock.steps import Call
from tests.sim.quorum.nodes import Rules, SimNode

pytestmark = pytest.mark.server

NAME, LONG = "orders", 600_000


def drawn(random: Random, layout: str) -> Call:
    """Any operation of any owner."""
    owner, number = random.choice("abc"), random.randint(1, 4)
    keys = (NAME, beside_key(NAME), f"tomb:{owner}")
    ahead = int((time.time() + random.choice((-5, 0.3))) * 1_000_000)
    verb, args = random.choice(
        [
            ("attempt", (owner, layout, LONG, number, ahead, LONG, 0, "")),
            ("attempt", (owner, layout, LONG, number, ahead, LONG, 0, "")),
            ("raise", (owner, layout, ahead)),
            ("release", (owner, layout, "channel", LONG, "", number)),
            ("release", (owner, layout, "channel", LONG, "")),
            ("renew", (layout, LONG, number + 2, LONG, 0, owner)),
        ]
    )
    return Call(script(f"quorum_{verb}"), (*keys, MARKER, GUARD), args, 0.0)


def essence(reply: list[Any], verb: str) -> list[Any]:
    """What of a reply does not depend on the very microsecond."""
    if verb != "quorum_attempt":
        return reply[:1] if verb == "quorum_raise" else [int(part) for part in reply]
    return [reply[0], reply[3] if reply[0] == 0 else None]


@pytest.mark.parametrize("layout", ["hash", "string"])
def test_the_scripts_and_their_twin_agree(peek: Any, layout: str) -> None:
    for seed in range(60):
        random, history = Random(seed), []
        peek.flushall()
        twin = SimNode(0, time.time, 1.0, 0.0, Rules())
        twin.records.gone = Forgiving()
        for _ in range(25):
            call = drawn(random, layout)
            name, keys = call.operation.name, call.keys
            count = 2 if name == "quorum_raise" else 3 if name == "quorum_release" else 5
            keys = keys[:count]
            real = peek.eval(call.operation.text, len(keys), *keys, *call.args)
            ours = twin.execute(call)
            history.append((name, call.args))
            assert essence(real, name) == essence(ours, name), (seed, history)


class Forgiving(set[str]):
    """The order of these operations is any: an owner that is withdrawn may be buried again."""

    def __contains__(self, owner: object) -> bool:
        return False
