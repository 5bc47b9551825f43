"""The file that the users of a machine share, in a folder that an administrator made.

Its rules are about users and groups.  Where the tests run as root, the other user is a real
one; elsewhere a process cannot become another user, so the neighbour is the same one, and what the
rules rest on, the modes and the group of each file, is checked by itself.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import interlock
from interlock.backends.sqlite import url as urls
from interlock.backends.sqlite.transport import making
from interlock.errors import StoreMisconfigured

from ...processes.people import Program
from ...support.worlds import World
from .conftest import NOBODY

PROGRAM = str(Path(__file__).parent / "programs" / "other_user")
ROOT = os.geteuid() == 0

#: The group that the folder is for: not one of root's.
GROUP = 4242 if ROOT else os.getegid()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the file of the machine will be; its folder is missing."""
    parent = Path(tempfile.mkdtemp())
    parent.chmod(0o755)
    path = parent / "interlock" / "locks.db"
    monkeypatch.setattr(urls, "MACHINE", str(path))
    yield path
    if path.parent.exists():
        path.parent.chmod(0o700)
    shutil.rmtree(parent)


@pytest.fixture
def machine(place: Path) -> Path:
    """The same, after an administrator made the folder."""
    make_folder(place.parent, 0o2770)
    return place


def make_folder(folder: Path, bits: int) -> None:
    folder.mkdir()
    os.chown(folder, -1, GROUP)
    folder.chmod(bits)


@pytest.fixture
def neighbour(place: Path) -> Iterator[Callable[..., Program]]:
    """Starts a process of another user, who is in these groups."""
    with ExitStack() as stack:

        def start(*groups: int) -> Program:
            people = (NOBODY, *groups) if ROOT else ()
            words = ("sqlite:machine", str(place), *map(str, people))
            program = stack.enter_context(Program(PROGRAM, *words))
            program.expect("ready")
            return program

        yield start


@pytest.fixture(autouse=True)
def masked() -> Iterator[None]:
    """Nothing that is made here is for others, if the umask has its way."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def take(world: World) -> None:
    world.do(world.do(world.connect("sqlite:machine").lock("k", timeout=2).acquire).release)


def test_users_of_its_group_exclude_each_other(
    world: World, machine: Path, neighbour: Callable[..., Program]
) -> None:
    lock, other = world.connect("sqlite:machine").lock("k"), neighbour(GROUP)

    hold = world.do(lock.acquire)
    assert other.ask("try") == "busy"
    world.do(hold.release)
    assert other.ask("try") == "held"

    assert world.do(lambda: lock.acquire(blocking=False)) is None
    assert other.ask("leave") == "released"


def test_it_does_not_matter_who_makes_it(
    world: World, machine: Path, neighbour: Callable[..., Program]
) -> None:
    other = neighbour(GROUP)
    assert other.ask("try") == "held"

    assert world.do(lambda: world.connect("sqlite:machine").lock("k").acquire(False)) is None
    assert other.ask("leave") == "released"
    take(world)


@pytest.mark.parametrize("url", ["sqlite:machine", "its path"])
def test_the_file_and_its_companions_are_for_the_group_whatever_the_umask(
    machine: Path, url: str
) -> None:
    url = url if url == "sqlite:machine" else f"sqlite://{machine}"

    with interlock.connect(url) as client, client.lock("k"):
        found = {each.name: each.stat() for each in machine.parent.iterdir()}

    assert found.keys() == {"locks.db", "locks.db-wal", "locks.db-shm"}
    assert {stat.S_IMODE(each.st_mode) for each in found.values()} == {0o660}
    assert {each.st_gid for each in found.values()} == {GROUP}


def test_a_missing_folder_is_refused_with_what_makes_it(world: World, place: Path) -> None:
    with pytest.raises(StoreMisconfigured, match="its folder is missing") as refused:
        take(world)

    assert f"install -d -m 2770 -g interlock {place.parent};" in str(refused.value)
    assert not place.parent.exists()


@pytest.mark.parametrize("bits", [0o2777, 0o2773, 0o2775, 0o2771, 0o770, 0o2750, 0o700, 0o1777])
def test_a_folder_that_is_not_for_a_group_alone_is_refused(
    world: World, place: Path, bits: int
) -> None:
    make_folder(place.parent, bits)

    with pytest.raises(StoreMisconfigured, match=f"its folder has mode {bits:04o}") as refused:
        take(world)

    assert f"install -d -m 2770 -g interlock {place.parent};" in str(refused.value)
    assert list(place.parent.iterdir()) == []


def test_a_user_outside_of_its_group_hears_whose_it_is_and_how_to_get_in(
    world: World, machine: Path, neighbour: Callable[..., Program]
) -> None:
    take(world)
    stranger = neighbour()
    if not ROOT:
        machine.parent.chmod(0o2070)  # the owner is the one who may not

    refusal = stranger.ask("try")

    assert refusal.startswith(f"StoreMisconfigured: {machine} cannot keep locks: ")
    assert f"the folder {machine.parent} belongs to " in refusal
    assert f"(uid {os.getuid()})" in refusal
    assert f"mode {2770 if ROOT else 2070}" in refusal
    assert f"install -d -m 2770 -g interlock {machine.parent};" in refusal


def test_its_name_appears_only_when_the_group_may_use_it(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early: list[bool] = []
    change = os.fchmod

    def watch(file: int, bits: int) -> None:
        early.append(machine.exists())
        change(file, bits)

    monkeypatch.setattr(os, "fchmod", watch)

    with interlock.connect("sqlite:machine") as client, client.lock("k"):
        pass

    assert early == [False]
    assert stat.S_IMODE(machine.stat().st_mode) == 0o660


def test_what_a_maker_that_died_left_is_not_in_the_way(world: World, machine: Path) -> None:
    Path(f"{machine}{making.DRAFT}").write_text("half a file")

    take(world)

    assert [each.name for each in machine.parent.glob("*new*")] == []


def test_a_file_that_a_member_kept_to_itself_is_named_with_its_owner_and_mode(
    world: World, machine: Path, neighbour: Callable[..., Program]
) -> None:
    take(world)
    machine.chmod(0o600 if ROOT else 0)

    refusal = neighbour(GROUP).ask("try")

    assert "it belongs to " in refusal
    assert f"(uid {os.getuid()}) and has mode {'0600' if ROOT else '0000'}" in refusal
