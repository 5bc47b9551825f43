"""A signal handler may fork in the middle of a transaction of its own thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...processes.people import Program
from .raw import ask

PROGRAMS = Path(__file__).parent / "programs"


def check(url: str, path: Path, way: str) -> None:
    with Program(str(PROGRAMS / "struck"), way, url) as family:
        family.expect("struck in many places", within=100)

        assert family.ended() == 0
        assert family.complaint() == ""
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.slow
def test_child_inherits_no_connection_and_what_it_gives_back_is_given_back(
    url: str, path: Path
) -> None:
    check(url, path, "used")


@pytest.mark.slow
def test_transaction_is_made_once_by_the_parent_even_if_the_child_returns_into_it(
    url: str, path: Path
) -> None:
    check(url, path, "returned")


@pytest.mark.slow
def test_child_that_returns_into_a_call_neither_holds_nor_disturbs_what_its_parent_holds(
    url: str, path: Path
) -> None:
    check(url, path, "believed")


def test_child_that_is_forked_while_the_file_is_made_does_not_lock_its_folder(
    url: str, path: Path
) -> None:
    check(url, path, "made")
