"""Which file a URL means."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import interlock
from interlock import aio
from interlock.backends.sqlite import SqliteBackend, path_of
from interlock.backends.sqlite.url import MACHINE, default_path, is_default, is_machine
from interlock.errors import UsageError


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///var/lib/app/locks.db", "/var/lib/app/locks.db"),
        ("sqlite:////var/lib/app/locks.db", "/var/lib/app/locks.db"),
        ("sqlite:/var/lib/app/locks.db", "/var/lib/app/locks.db"),
        ("SQLITE:///Var/x.db", "/Var/x.db"),
        ("sqlite:///a/./b/../x.db", "/a/x.db"),
        ("sqlite:///with%20space/100%25/%3F%23.db", "/with space/100%/?#.db"),
        ("sqlite:///caf%C3%A9.db", "/café.db"),
        ("sqlite:///not-text-%FF.db", "/not-text-\udcff.db"),
    ],
)
def test_three_slashes_are_an_absolute_path(url: str, path: str) -> None:
    assert path_of(url) == path


@pytest.mark.parametrize("url", ["sqlite:", "sqlite://", "sqlite:///"])
def test_without_a_path_it_is_the_default_file(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")

    assert path_of(url) == "/state/interlock/locks.db"


@pytest.mark.parametrize("url", ["sqlite:machine", "SQLITE:machine", f"sqlite://{MACHINE}"])
def test_the_file_that_users_share_has_a_name_of_its_own(url: str) -> None:
    assert path_of(url) == "/var/lib/interlock/locks.db"
    assert is_machine(path_of(url))


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///:memory:",
        "sqlite://:memory:",
        "sqlite::memory:",
        "sqlite:/:memory:",
        "sqlite:///file::memory:",
        "sqlite:///file::memory:?cache=shared",
        "sqlite:///file:locks?mode=memory",
        "sqlite:///%3Amemory%3A",
        "sqlite:///tmp/:memory:",
    ],
)
@pytest.mark.parametrize("connect", [interlock.connect, aio.connect])
def test_memory_is_no_file_and_the_store_in_memory_is_named(
    connect: Callable[[str], object], url: str
) -> None:
    with pytest.raises(UsageError, match=r"use memory://$"):
        connect(url)


@pytest.mark.parametrize("state", ["", "relative/state"])
def test_a_state_directory_that_is_not_absolute_is_ignored(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("HOME", "/home/ann")

    assert default_path() == "/home/ann/.local/state/interlock/locks.db"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite:///x.db?mode=ro", "takes no parameters"),
        ("sqlite:///x.db?timeout=5", "takes no parameters"),
        ("sqlite:///x.db#part", "takes no parameters"),
        ("sqlite://host/x.db", "no host"),
        ("sqlite://x.db", "no host"),
        ("sqlite://machine", "or sqlite:machine"),
        ("sqlite:x.db", "absolute"),
        ("sqlite:///x%00.db", "NUL"),
        ("sqlite:///x\n.db", "control"),
        ("sqlite:///x\0.db", "control"),
    ],
)
def test_a_url_that_means_no_file_is_refused(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        interlock.connect(url)


def test_nobody_without_a_home_has_a_default_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr("interlock.backends.sqlite.url.Path.home", _homeless)

    with pytest.raises(UsageError, match=r"no home directory.*INTERLOCK_URL.*XDG_STATE_HOME"):
        path_of("sqlite:")
    assert not is_default("/var/lib/app/locks.db")


def _homeless() -> None:
    raise RuntimeError("Could not determine home directory.")


def test_a_home_that_moves_with_the_working_directory_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "relative/home")

    with pytest.raises(UsageError, match="no home directory"):
        path_of("sqlite:")


def test_the_label_says_the_path_as_it_was_given() -> None:
    assert SqliteBackend("/var/lib/app/locks.db").label == "sqlite:///var/lib/app/locks.db"
