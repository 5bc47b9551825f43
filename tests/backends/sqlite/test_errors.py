"""What people read when the file cannot be used, in both worlds."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock.backends.sqlite.errors import Occupied, from_sqlite, uncommitted
from interlock.backends.sqlite.transport import database, opening
from interlock.errors import (
    LockLost,
    OutcomeUnknown,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
)
from interlock.events import Event, Renewed

from ...processes.people import Worker
from ...support.worlds import World
from .raw import ask, occupied, raw, until


def take(world: World, url: str, timeout: float = 0) -> Any:
    """Take a lock and keep it."""
    return world.do(world.connect(url).lock("k", timeout=timeout).acquire)


def make(url: str) -> None:
    """Make a lock file that no process has open."""
    with interlock.connect(url) as client, client.lock("first"):
        pass


# --- busy -------------------------------------------------------------------------------------


def test_a_file_that_stays_busy_is_unavailable(
    world: World, url: str, path: Path, hasty: None
) -> None:
    make(url)

    with (
        occupied(path),
        pytest.raises(StoreUnavailable, match=r"is busy: .* for \d+ ms; look") as refused,
    ):
        take(world, url)

    assert str(path) in str(refused.value)
    assert ask(path, "SELECT name FROM records WHERE name != ''") == []


def test_a_transaction_of_somebody_else_is_waited_for(world: World, url: str, path: Path) -> None:
    make(url)
    with occupied(path) as other:
        taking = world.start(world.connect(url).lock("k", timeout=5).acquire)
        with pytest.raises(TimeoutError):
            taking.result(0.1)

        other.execute("COMMIT")

        world.do(taking.result(5).release)


def test_looking_does_not_wait_for_writers(world: World, url: str, path: Path) -> None:
    client = world.connect(url)
    hold = world.do(client.lock("k").acquire)
    until(lambda: ask(path, "SELECT count(*) FROM clients") == [(1,)])  # the keeper is done

    with occupied(path):
        assert world.do(client.lock("k").locked)

    world.do(hold.release)


# --- full ---------------------------------------------------------------------------------------


class Disk:
    """A disk that can be filled up, and freed again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "locks.db"
        self._filler = folder / "filler"

    def fill(self) -> None:
        with suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 512)

    def free(self) -> None:
        self._filler.unlink()


class Quota(Disk):
    """The same where nothing can be mounted: SQLite counts its pages, and gets no more."""

    MANY = 1_000_000

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._pages, self._connections = self.MANY, list[sqlite3.Connection]()
        self._open = opening._open

    def open(self, path: str) -> sqlite3.Connection:
        self._connections.append(self._open(path))
        self._allow(self._pages)
        return self._connections[-1]

    def fill(self) -> None:
        self._allow(1)

    def free(self) -> None:
        self._allow(self.MANY)

    def _allow(self, pages: int) -> None:
        self._pages = pages
        for connection in self._connections:
            with suppress(sqlite3.ProgrammingError):  # it has been closed
                connection.execute(f"PRAGMA max_page_count = {pages}")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0:
        try:
            yield Disk(tmp_path)
        finally:
            subprocess.run(["umount", "-l", str(tmp_path)], check=True)
    else:
        quota = Quota(tmp_path)
        monkeypatch.setattr(opening, "_open", quota.open)
        yield quota


def test_a_full_disk_grants_nothing_and_says_so(world: World, disk: Disk) -> None:
    client = world.connect(f"sqlite://{disk.path}")
    held = world.do(client.lock("held").acquire)
    disk.fill()

    with pytest.raises(StoreUnavailable, match="disk is full") as refused:
        # Enough to need a page of its own, however few pages there are.
        world.do(client.lock("k" * 5000, timeout=0).acquire)

    assert str(disk.path) in str(refused.value)
    disk.free()
    assert world.do(client.lock("k" * 5000).locked) is False
    world.do(held.release)


def test_a_disk_that_was_full_serves_again(world: World, disk: Disk) -> None:
    client = world.connect(f"sqlite://{disk.path}")
    world.do(world.do(client.lock("k").acquire).release)
    disk.fill()
    with pytest.raises(StoreUnavailable):
        world.do(client.lock("k" * 5000, timeout=0).acquire)

    disk.free()

    world.do(world.do(client.lock("k" * 5000, timeout=1).acquire).release)


# --- permissions --------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [(0o400, 0o700), (0o400, 0o500), (0o600, 0o500)])
def test_a_file_that_cannot_be_written_is_refused(
    world: World, plain_user: Path, bits: tuple[int, int]
) -> None:
    path = plain_user / "locks.db"
    make(f"sqlite://{path}")
    path.chmod(bits[0])
    plain_user.chmod(bits[1])

    with pytest.raises(StoreMisconfigured, match=r"writable|permissions") as refused:
        take(world, f"sqlite://{path}")

    assert str(path) in str(refused.value)


@pytest.mark.parametrize("bits", [0o000, 0o500, 0o600])
def test_a_folder_where_nothing_can_be_made_is_refused(
    world: World, plain_user: Path, bits: int
) -> None:
    plain_user.chmod(bits)

    with pytest.raises(StoreMisconfigured, match="permission denied") as refused:
        take(world, f"sqlite://{plain_user}/locks.db")

    assert f"{plain_user}/locks.db" in str(refused.value)


def test_a_file_of_somebody_else_is_refused(world: World, plain_user: Path) -> None:
    path = plain_user / "locks.db"
    make(f"sqlite://{path}")
    path.chmod(0)

    with pytest.raises(StoreMisconfigured, match="cannot be opened"):
        take(world, f"sqlite://{path}")


# --- damage -------------------------------------------------------------------------------------


def test_a_damaged_file_is_refused(world: World, url: str, path: Path) -> None:
    make(url)
    contents = path.read_bytes()
    path.write_bytes(contents[:1024] + b"\xa5" * (len(contents) - 1024))

    with pytest.raises(StoreMisconfigured, match=r"it is damaged; .* move it away") as refused:
        take(world, url)

    assert str(path) in str(refused.value)


def test_a_file_without_its_tables_is_refused(world: World, url: str, path: Path) -> None:
    make(url)
    ask(path, "DROP TABLE tombs")

    with pytest.raises(StoreMisconfigured, match="no such table: tombs"):
        take(world, url)


def test_a_file_moved_away_is_followed_by_a_new_one(
    world: World, url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("x" * 5000)
    with pytest.raises(StoreMisconfigured):
        take(world, url)

    path.rename(path.with_name("damaged"))

    world.do(take(world, url).release)


# --- deleted or replaced while in use ------------------------------------------------------------


def _delete_all(path: Path) -> None:
    for each in path.parent.glob("locks.db*"):
        each.unlink(missing_ok=True)  # a client that notices in between may tidy up first


def _delete_main(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    other = path.with_name("other.db")
    make(f"sqlite://{other}")
    _delete_all(path)
    other.rename(path)


@pytest.mark.parametrize("spoil", [_delete_all, _delete_main, _replace])
def test_a_holder_hears_that_its_file_is_gone_and_the_next_one_goes_on(
    world: World,
    url: str,
    path: Path,
    spoil: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "VERIFY_MS", 0)
    client = world.connect(url)
    world.do(world.do(client.lock("warm").acquire).release)
    hold = world.do(client.lock("k", lease=0.6).acquire)
    lost: list[Any] = []
    hold.on_lost(lost.append)
    spoil(path)

    until(lambda: bool(lost))

    with pytest.raises(LockLost):
        hold.ensure()

    world.do(take(world, url, timeout=5).release)
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_new_file_shares_nothing_with_the_deleted_one_that_others_still_use(
    world: World, url: str, path: Path, worker: Callable[[], Worker]
) -> None:
    old = worker()
    old.acquire("k", lease=1.0)
    path.unlink()  # its log stays, and is in use

    hold = world.do(world.connect(url).lock("k", timeout=0).acquire)

    until(lambda: old.ask("lost") == "True")
    assert ask(path, "SELECT owner FROM records WHERE name = 'k'") == [(hold.owner,)]
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    world.do(hold.release)


def test_a_holder_survives_the_loss_of_the_log(
    world: World, url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "VERIFY_MS", 0)
    renewals: list[Renewed] = []
    client = world.connect(url, observer=lambda event: _note(event, renewals))
    hold = world.do(client.lock("k", lease=0.6).acquire)
    Path(f"{path}-wal").unlink()
    Path(f"{path}-shm").unlink(missing_ok=True)  # the keeper may notice in between

    until(lambda: len(renewals) >= 2)

    assert not hold.lost
    with interlock.connect(url) as other:
        assert other.lock("k").acquire(blocking=False) is None
    world.do(hold.release)


def _note(event: Event, renewals: list[Renewed]) -> None:
    if isinstance(event, Renewed):
        renewals.append(event)


def test_the_question_that_finds_the_file_gone_says_so(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "VERIFY_MS", 0)
    with interlock.connect(url) as client:
        lock = client.lock("k")
        with lock:
            pass
        _delete_all(path)

        with pytest.raises(StoreUnavailable, match="deleted or replaced"):
            lock.locked()
        assert not lock.locked()


def test_a_file_is_verified_once_a_second(
    client: interlock.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def look(path: str) -> opening.Identity:
        looks.append(path)
        return opening.identity(path)

    monkeypatch.setattr(database, "VERIFY_MS", 50)
    monkeypatch.setattr(database, "identity", look)

    with client.lock("warm") as hold:
        until(lambda: client.lock("warm").locked() and len(looks) >= 3)

    assert not hold.lost
    assert len(looks) == 3


# --- words ---------------------------------------------------------------------------------------


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("it went wrong")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (sqlite3.SQLITE_FULL, StoreUnavailable, "disk is full"),
        (sqlite3.SQLITE_IOERR_SHMSIZE, StoreUnavailable, "disk is full"),
        (sqlite3.SQLITE_IOERR_READ, StoreUnavailable, "its disk"),
        (sqlite3.SQLITE_NOMEM, StoreUnavailable, "memory"),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreUnavailable, "deleted or replaced"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreMisconfigured, "read-only"),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, StoreMisconfigured, "cannot be opened"),
        (sqlite3.SQLITE_PERM, StoreMisconfigured, "permissions"),
        (sqlite3.SQLITE_NOTADB, StoreMisconfigured, "not a SQLite database"),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreMisconfigured, "damaged"),
        (sqlite3.SQLITE_ERROR, StoreMisconfigured, "does not work as a lock file"),
    ],
)
def test_each_code_of_sqlite_becomes_a_sentence_with_the_path(
    code: int, kind: type[StoreError], words: str
) -> None:
    failure = from_sqlite(sqlite_error(code), "/var/locks.db")

    assert type(failure) is kind
    assert words in str(failure)
    assert "/var/locks.db" in str(failure)
    assert isinstance(failure, StoreError)
    assert failure.store == "sqlite:///var/locks.db"


@pytest.mark.parametrize(
    "code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_LOCKED]
)
def test_busy_codes_are_worth_another_try(code: int) -> None:
    assert isinstance(from_sqlite(sqlite_error(code), "/var/locks.db"), Occupied)


def test_a_commit_that_fails_leaves_the_outcome_open_unless_the_disk_is_full() -> None:
    torn = uncommitted(sqlite_error(sqlite3.SQLITE_IOERR_WRITE), "/var/locks.db")
    full = uncommitted(sqlite_error(sqlite3.SQLITE_FULL), "/var/locks.db")

    assert isinstance(torn, OutcomeUnknown)
    assert isinstance(full, StoreUnavailable)


def test_a_commit_that_fails_is_undone(
    world: World, url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(url)
    with raw(path) as connection:  # a commit that SQLite itself refuses
        connection.execute(
            "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
        )
        connection.execute(
            "CREATE TABLE children (id INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)"
        )
        connection.execute(
            "CREATE TRIGGER spoil AFTER INSERT ON records WHEN new.name = 'spoilt' "
            "BEGIN INSERT INTO children VALUES (1); END"
        )
    monkeypatch.setattr(opening, "_open", _strict)
    client = world.connect(url)

    with pytest.raises(StoreUnavailable, match="did not confirm"):
        world.do(client.lock("spoilt", timeout=0).acquire)

    assert not world.do(client.lock("spoilt").locked)
    world.do(world.do(client.lock("k").acquire).release)


def _strict(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
