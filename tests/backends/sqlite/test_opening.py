"""How a lock file comes to be, and what is not taken for one."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock.backends.sqlite.transport import opening
from interlock.backends.sqlite.transport.making import prepare_file
from interlock.backends.sqlite.transport.opening import APPLICATION, VERSION
from interlock.errors import StoreMisconfigured, StoreUnavailable

from ...processes.people import Program, Worker
from ...support.worlds import World
from .raw import ask

PROGRAMS = Path(__file__).parent / "programs"


def take(world: World, url: str) -> None:
    """Take and release a lock."""
    world.do(world.do(world.connect(url).lock("k", timeout=2).acquire).release)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_is_made_before_it_is_needed(url: str, path: Path) -> None:
    with interlock.connect(url) as client:
        client.lock("k")

    assert not path.exists()


def test_the_file_and_its_companions_are_for_their_owner_only(
    client: interlock.Client, path: Path
) -> None:
    with client.lock("k"):
        modes = {each.name: mode(each) for each in path.parent.iterdir()}

    assert modes == {"locks.db": 0o600, "locks.db-wal": 0o600, "locks.db-shm": 0o600}


def test_closing_leaves_one_file_and_nothing_open(url: str, path: Path) -> None:
    clients = [interlock.connect(url) for _ in range(2)]
    for client in clients:
        with client.lock("k"):
            pass

    for client in clients:
        client.close()

    assert [each.name for each in path.parent.iterdir()] == ["locks.db"]
    assert not [fd for fd in Path("/proc/self/fd").iterdir() if _leads_to(fd, path)]


def _leads_to(descriptor: Path, path: Path) -> bool:
    try:
        return str(descriptor.readlink()).startswith(str(path))
    except FileNotFoundError:
        return False


def test_the_file_says_what_it_is_and_which_version(client: interlock.Client, path: Path) -> None:
    with client.lock("k"):
        assert ask(path, "PRAGMA application_id") == [(APPLICATION,)]
        assert ask(path, "PRAGMA user_version") == [(VERSION,)]
        assert ask(path, "PRAGMA journal_mode") == [("wal",)]
        assert ask(path, "PRAGMA page_size") == [(opening.PAGE_BYTES,)]


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 6])
def test_another_format_is_refused_and_both_versions_are_named(
    world: World, url: str, path: Path, version: int
) -> None:
    with interlock.connect(url) as client, client.lock("k"):
        pass
    ask(path, f"PRAGMA user_version = {version}")

    with pytest.raises(StoreMisconfigured, match=f"version {version}, .* version {VERSION};"):
        take(world, url)
    assert ask(path, "PRAGMA user_version") == [(version,)]


def _tables_of_another_program(path: Path) -> None:
    ask(path, "CREATE TABLE orders (id INTEGER)")


def _another_application(path: Path) -> None:
    ask(path, "PRAGMA application_id = 77")


def _another_version_of_nothing(path: Path) -> None:
    ask(path, "PRAGMA user_version = 3")


def _text(path: Path) -> None:
    path.write_text("this is no database, and should stay as it is\n" * 100)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_tables_of_another_program, "another program"),
        (_another_application, "another program"),
        (_another_version_of_nothing, "another program"),
        (_text, "not a SQLite database"),
    ],
)
def test_what_is_not_ours_is_refused_and_not_touched(
    world: World, url: str, path: Path, make: Callable[[Path], None], words: str
) -> None:
    make(path)
    before = path.read_bytes()

    with pytest.raises(StoreMisconfigured, match=words) as refused:
        take(world, url)

    assert str(path) in str(refused.value)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["locks.db"]


def test_a_link_to_a_lock_file_is_refused(world: World, url: str, path: Path) -> None:
    target = path.with_name("target.db")
    take(world, f"sqlite://{target}")
    path.symlink_to(target)

    with pytest.raises(StoreMisconfigured, match="symbolic link"):
        take(world, url)


def test_a_link_to_nowhere_is_refused_and_not_followed(world: World, url: str, path: Path) -> None:
    target = path.with_name("target.db")
    path.symlink_to(target)

    with pytest.raises(StoreMisconfigured, match="symbolic link"):
        take(world, url)

    assert not target.exists()


def test_a_link_that_takes_its_place_meanwhile_is_not_followed(
    world: World, url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = path.with_name("target.db")
    target.touch()

    def swap(path: str) -> opening.Inode:
        inode = prepare_file(path)
        Path(path).unlink()
        Path(path).symlink_to(target)
        return inode

    monkeypatch.setattr(opening, "prepare_file", swap)

    with pytest.raises(StoreMisconfigured, match="symbolic link"):
        take(world, url)

    assert target.read_bytes() == b""
    assert not Path(f"{target}-wal").exists()


def test_a_path_that_is_not_text_can_be_used(world: World, tmp_path: Path) -> None:
    take(world, f"sqlite://{tmp_path}/not-text-%FF.db")

    assert (tmp_path / os.fsdecode(b"not-text-\xff.db")).exists()


def test_folders_may_be_links(client: interlock.Client, tmp_path: Path) -> None:
    other_way = tmp_path / "other_way"
    other_way.symlink_to(tmp_path)

    with interlock.connect(f"sqlite://{other_way}/locks.db") as other, client.lock("k"):
        assert other.lock("k").acquire(blocking=False) is None


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("missing/locks.db", "no such file or directory"),
        ("file/locks.db", "not a directory"),
        ("folder", "not a file"),
        ("x" * 300, "name too long"),
    ],
)
def test_a_bad_path_is_named(world: World, tmp_path: Path, where: str, words: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    with pytest.raises(StoreMisconfigured, match=words) as refused:
        take(world, f"sqlite://{tmp_path}/{where}")

    assert f"{tmp_path}/{where}" in str(refused.value)


def test_an_empty_file_becomes_a_lock_file(world: World, url: str, path: Path) -> None:
    path.touch()

    take(world, url)

    assert ask(path, "PRAGMA application_id") == [(APPLICATION,)]


def test_what_a_deleted_file_left_behind_is_removed(world: World, url: str, path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").write_bytes(b"x" * 40_000)

    take(world, url)

    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_whoever_comes_while_the_file_is_made_waits_for_it(
    world: World, url: str, path: Path
) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    taking = world.start(lambda: take_later(world, url))

    with pytest.raises(TimeoutError):
        taking.result(0.2)
    assert not path.exists()
    os.close(folder)

    world.do(taking.result(5).release)


def take_later(world: World, url: str) -> object:
    return world.connect(url).lock("k", timeout=5).acquire()


def test_a_file_that_never_comes_to_be_is_unavailable(
    world: World, url: str, path: Path, hasty: None
) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        with pytest.raises(StoreUnavailable, match="busy"):
            world.do(world.connect(url).lock("k", timeout=0).acquire)
    finally:
        os.close(folder)


def test_many_processes_may_make_it_at_once(url: str, path: Path) -> None:
    crowd = [Program(str(PROGRAMS / "first"), url) for _ in range(5)]
    try:
        for each in crowd:
            each.expect("ready")
        for each in crowd:
            each.tell("go")

        assert sorted(each.hear() for each in crowd) == ["done"] * 5
    finally:
        for each in crowd:
            each.__exit__()
    assert ask(path, "SELECT count(*) FROM records") == [(1,)]


def test_a_file_system_that_shares_no_memory_is_refused(
    world: World, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_open", _without_shared_memory)

    with pytest.raises(StoreMisconfigured, match="local disk"):
        take(world, url)


class Stubborn(sqlite3.Connection):
    """A database on a file system where SQLite cannot keep a log that processes share."""

    def execute(self, statement: str, *facts: Any) -> sqlite3.Cursor:
        return super().execute(
            "SELECT 'delete'" if "journal_mode" in statement else statement, *facts
        )


def _without_shared_memory(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, factory=Stubborn, check_same_thread=False)


class TestDefaultFile:
    """The default file, in the user's state directory."""

    @pytest.fixture(autouse=True)
    def state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.delenv("INTERLOCK_URL", raising=False)
        monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}/home/state")
        return tmp_path / "home" / "state"

    def test_its_folders_are_made_for_their_owner_only(self, world: World, state: Path) -> None:
        before = os.umask(0)
        try:
            take(world, "sqlite:")
        finally:
            os.umask(before)

        folder = state / "interlock"
        assert [mode(each) for each in (folder, folder / "locks.db")] == [0o700, 0o600]

    @pytest.mark.parametrize("bits", [0o770, 0o707, 0o777])
    def test_a_folder_that_others_may_write_is_refused(
        self, world: World, state: Path, bits: int
    ) -> None:
        folder = state / "interlock"
        folder.mkdir(parents=True)
        folder.chmod(bits)

        with pytest.raises(StoreMisconfigured, match=r"others may write .*chmod 700"):
            take(world, "sqlite:")

        assert list(folder.iterdir()) == []

    def test_it_is_shared_by_whoever_gives_no_url(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hold = world.do(world.connect(None).lock("k").acquire)

        with interlock.connect() as client:
            assert client.lock("k").acquire(blocking=False) is None
        world.do(hold.release)

    def test_its_folder_may_lie_behind_a_link(self, state: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        state.parent.mkdir()
        state.symlink_to(elsewhere)

        with interlock.connect() as client, client.lock("k"):
            assert mode(elsewhere / "interlock") == 0o700


def test_processes_and_threads_share_one_file(
    client: interlock.Client, worker: Callable[[], Worker]
) -> None:
    neighbour = worker()
    neighbour.acquire("k")
    answers: list[object] = []

    thread = threading.Thread(
        target=lambda: answers.append(client.lock("k").acquire(blocking=False))
    )
    thread.start()
    thread.join()

    assert answers == [None]
