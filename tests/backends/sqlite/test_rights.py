"""Whose file it is that cannot be used, and which mode it has."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

import interlock
from interlock.backends.sqlite.transport import rights
from interlock.errors import StoreMisconfigured

from ...support.worlds import World
from .conftest import NOBODY

ROOT = os.geteuid() == 0


def named(uid: int) -> str:
    return f"user {pwd.getpwuid(uid).pw_name} (uid {uid})"


def take(world: World, path: Path) -> None:
    world.do(world.connect(f"sqlite://{path}").lock("k", timeout=0).acquire)


def make(path: Path) -> None:
    with interlock.connect(f"sqlite://{path}") as client, client.lock("first"):
        pass


def give_to_root(path: Path, bits: int, own_bits: int) -> tuple[int, int]:
    """Make a file another user's; its owner and mode.  Who is not root can give nothing away,
    and takes the same rights from itself."""
    if not ROOT:
        path.chmod(own_bits)
        return os.geteuid(), own_bits
    os.seteuid(0)
    os.chown(path, 0, 0)
    path.chmod(bits)
    os.seteuid(NOBODY)
    return 0, bits


@pytest.mark.parametrize(("bits", "own_bits"), [(0o600, 0o000), (0o644, 0o400)])
def test_the_file_of_another_user_is_refused_with_its_owner_and_mode(
    world: World, plain_user: Path, bits: int, own_bits: int
) -> None:
    path = plain_user / "locks.db"
    make(path)
    owner, mode = give_to_root(path, bits, own_bits)

    with pytest.raises(StoreMisconfigured) as refused:
        take(world, path)

    assert f"it belongs to {named(owner)} and has mode {mode:04o}, " in str(refused.value)
    assert f"this process runs as {named(os.geteuid())}" in str(refused.value)
    assert "sqlite:machine" in str(refused.value)


def test_the_companion_of_another_user_is_refused_with_its_owner_and_mode(
    world: World, plain_user: Path
) -> None:
    path = plain_user / "locks.db"
    make(path)
    log = Path(f"{path}-wal")
    log.touch()
    owner, mode = give_to_root(log, 0o600, 0o000)

    with pytest.raises(StoreMisconfigured) as refused:
        take(world, path)

    assert f"{log} belongs to {named(owner)} and has mode {mode:04o}, " in str(refused.value)


@pytest.mark.parametrize("bits", [0o500, 0o600, 0o000])
def test_a_folder_that_is_closed_is_refused_with_its_owner_and_mode(
    world: World, plain_user: Path, bits: int
) -> None:
    plain_user.chmod(bits)

    with pytest.raises(StoreMisconfigured) as refused:
        take(world, plain_user / "locks.db")

    assert (
        f"the folder {plain_user} belongs to {named(os.geteuid())} and has mode {bits:04o}, "
    ) in str(refused.value)


def test_a_folder_on_the_way_is_named(world: World, plain_user: Path) -> None:
    inner = plain_user / "inner"
    inner.mkdir()
    plain_user.chmod(0o600)

    with pytest.raises(StoreMisconfigured, match=f"the folder {plain_user} belongs to"):
        take(world, inner / "locks.db")


def test_nothing_is_in_the_way_of_what_can_be_used(plain_user: Path) -> None:
    path = plain_user / "locks.db"
    assert rights.obstacle(str(path)) is None

    make(path)

    assert rights.obstacle(str(path)) is None


def test_a_user_without_a_name_has_a_number() -> None:
    assert rights.user(4_000_000_000) == "uid 4000000000"
