"""A name may be any text."""

from __future__ import annotations

from pathlib import Path

import pytest

import interlock

from ...support.worlds import World
from .raw import ask

NAMES = [
    "{orders}:42",
    "line\nbreak",
    "with\0nul",
    "\0",
    " ",
    "'; DROP TABLE records; --",
    "%_?1:name",
    "日本語" * 114,  # one kilobyte
    "\U0001f512" * 256,
    "x" * 65_536,
    "é",
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_any_name_excludes_and_is_handed_over(
    world: World, url: str, path: Path, name: str
) -> None:
    first, second = world.connect(url).lock(name), world.connect(url).lock(name)
    hold = world.do(first.acquire)
    assert ask(path, "SELECT name FROM records WHERE name != ''") == [(name,)]

    assert world.do(lambda: second.acquire(blocking=False)) is None
    waiting = world.start(second.acquire)
    world.do(hold.release)

    world.do(waiting.result(10).release)
    assert ask(path, "SELECT name FROM records WHERE name != ''") == []


def test_names_that_look_alike_are_different(client: interlock.Client) -> None:
    alike = ["a", "A", "a ", "a\0", "a\0b", "á", "a\u0301", "1", "01", "1.0"]

    holds = [client.lock(name).acquire(blocking=False) for name in alike]

    assert None not in holds


def test_a_name_has_one_kind_at_a_time(client: interlock.Client, path: Path) -> None:
    with client.mutex("k"):
        before = ask(path, "SELECT * FROM records")
        with pytest.raises(interlock.StoreMisconfigured, match="in use as a mutex"):
            client.lock("k").acquire(blocking=False)
        assert ask(path, "SELECT * FROM records") == before

    with client.lock("k"):
        pass
