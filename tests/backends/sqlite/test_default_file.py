"""The default file: who shares it, and what is said when there can be none."""

from __future__ import annotations

import errno
import logging
import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.errors import StoreMisconfigured

from ...support.worlds import World


def take(world: World) -> None:
    world.do(world.do(world.connect(None).lock("k", timeout=0).acquire).release)


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("INTERLOCK_URL", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


# --- who shares it ------------------------------------------------------------------------------


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "interlock")
    return caplog


def test_the_first_use_says_which_file_it_is_and_who_shares_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    for _ in range(3):
        take(world)

    (record,) = [each for each in said.records if each.name == "interlock.sqlite"]
    assert record.levelno == logging.INFO
    words = record.getMessage()
    assert f"{tmp_path}/.local/state/interlock/locks.db" in words
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert f"all processes of user {user} (uid {os.geteuid()}) on this machine" in words
    assert "not by other users or containers" in words
    assert "INTERLOCK_URL" in words
    assert "sqlite:machine" in words


def test_it_is_said_to_a_program_that_sets_up_its_log_after_it_connects(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    caplog.set_level(logging.WARNING, "interlock")
    client = world.connect(None)

    caplog.set_level(logging.INFO, "interlock")
    world.do(world.do(client.lock("k").acquire).release)

    assert len(caplog.records) == 1


def test_a_file_of_ones_own_choice_is_not_talked_about(
    world: World, url: str, said: pytest.LogCaptureFixture
) -> None:
    world.do(world.do(world.connect(url).lock("k").acquire).release)

    assert [each for each in said.records if each.name == "interlock.sqlite"] == []


# --- where there can be none --------------------------------------------------------------------


def assert_names_a_way_out(refusal: object) -> None:
    assert "INTERLOCK_URL" in str(refusal)
    assert "XDG_STATE_HOME" in str(refusal)


@pytest.mark.parametrize("home", [".", "missing"])
def test_a_home_that_cannot_be_written_is_refused_with_what_to_do(
    world: World, plain_user: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    plain_user.chmod(0o500)
    monkeypatch.setenv("HOME", str(plain_user / home))

    with pytest.raises(StoreMisconfigured, match="permission denied") as refused:
        take(world)

    assert f"the folder {plain_user} belongs to " in str(refused.value)
    assert "has mode 0500" in str(refused.value)
    assert_names_a_way_out(refused.value)


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a read-only file system; where none can be mounted, the system says the same."""
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(tmp_path)]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0:
        yield tmp_path
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
    else:
        monkeypatch.setattr(Path, "mkdir", _refuse)
        yield tmp_path


def _refuse(path: Path, **options: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


def test_a_read_only_home_is_refused_with_what_to_do(
    world: World, read_only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(read_only))

    with pytest.raises(StoreMisconfigured, match="read-only file system") as refused:
        take(world)

    assert_names_a_way_out(refused.value)


def test_a_folder_that_others_may_write_is_refused_with_what_to_do(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "interlock").mkdir()
    (tmp_path / "interlock").chmod(0o777)

    with pytest.raises(StoreMisconfigured, match=f"chmod 700 {tmp_path}/interlock") as refused:
        take(world)

    assert_names_a_way_out(refused.value)
