"""Tokens only grow, whatever happens to the file, the clock and the processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import interlock
from interlock.backends.sqlite.transport import records

from ...processes.people import Worker
from .raw import ask


def token(url: str, name: str = "k") -> int:
    """The token of a grant to a client of its own."""
    with interlock.connect(url) as client, client.lock(name) as hold:
        return hold.token


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A wall clock that a test may set."""
    clock = [time.time_ns() // 1000]
    monkeypatch.setattr(records, "wall_us", lambda: clock[0])
    yield clock


def test_tokens_are_microseconds_of_the_wall_clock(url: str, wall: list[int]) -> None:
    assert token(url) == wall[0]


def test_tokens_grow_when_the_file_is_closed_and_opened_again(url: str) -> None:
    tokens = [token(url) for _ in range(3)]

    assert tokens == sorted(set(tokens))


def test_tokens_grow_when_the_clock_stands_still(url: str, wall: list[int]) -> None:
    assert [token(url) - wall[0] for _ in range(3)] == [0, 1, 2]


def test_tokens_grow_when_the_clock_is_set_back(url: str, wall: list[int]) -> None:
    first = token(url)
    wall[0] -= 3600 * 1_000_000

    assert [token(url) for _ in range(2)] == [first + 1, first + 2]


def test_tokens_grow_across_names_so_that_a_name_need_not_be_remembered(
    url: str, path: Path, wall: list[int]
) -> None:
    tokens = [token(url, f"name {number}") for number in range(3)]

    assert tokens == [wall[0], wall[0] + 1, wall[0] + 2]
    assert ask(path, "SELECT name FROM records") == [("",)]


def test_tokens_grow_over_a_deleted_file(url: str, path: Path) -> None:
    first = token(url)
    path.unlink()

    assert token(url) > first


def test_tokens_grow_from_process_to_process(url: str, worker: Callable[[], Worker]) -> None:
    tokens = [token(url)]
    for _ in range(2):
        process = worker()
        process.acquire("k")
        tokens.append(int(process.ask("token")))
        process.release()
    tokens.append(token(url))

    assert tokens == sorted(set(tokens))


def test_the_file_tells_the_token_of_a_holder(client: interlock.Client, path: Path) -> None:
    with client.lock("k") as hold:
        assert ask(path, "SELECT token FROM records WHERE name = 'k'") == [(hold.token,)]
