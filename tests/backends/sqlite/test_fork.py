"""A fork does not split the locks: parent and child go on with the same file."""

from __future__ import annotations

from pathlib import Path

import interlock
from interlock.backends.sqlite.transport.shared_file import OpenFiles, SharedFile
from interlock.steps import Call

from ...processes.people import Program
from .raw import ask

FORKS = str(Path(__file__).parent / "programs" / "forks")


def test_the_lock_of_a_child_is_seen_by_all_even_after_the_parent_has_closed(
    url: str, path: Path
) -> None:
    with Program(FORKS, "outlives", url) as family:
        family.expect("parent closed")

        with interlock.connect(url) as client:
            assert client.lock("child").acquire(blocking=False) is None
            family.tell("go on")
            family.expect("child released")
            with client.lock("child", timeout=0):
                pass
        assert family.ended() == 0
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_forking_in_the_middle_of_transactions_hurts_nobody(url: str, path: Path) -> None:
    with Program(FORKS, "busy", url) as family:
        family.expect(str([0] * 15), within=60)

        assert family.ended() == 0
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_child_does_not_use_what_another_thread_of_its_parent_had_in_use(
    url: str, path: Path
) -> None:
    with Program(FORKS, "stuck", url) as family:
        for _ in ("the child", "its child"):
            assert "start it anew" in family.hear()
        family.expect("parent held")

        assert family.ended() == 0
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_fork_in_a_transaction_does_not_wait_for_a_thread_that_closes(url: str) -> None:
    with Program(FORKS, "left", url) as family:
        family.expect("both went on")

        assert family.ended() == 0


def test_file_that_is_closed_in_its_own_transaction_is_closed_behind_it(path: Path) -> None:
    """As a signal handler would do it, in which the last client is closed."""
    files = OpenFiles()
    file = files.enter(str(path))

    assert file.try_apply((Call(lambda records: files.leave(file), (), (), 0.0),)) == [None]

    assert file._database is None


def test_nothing_is_open_while_a_process_forks(path: Path) -> None:
    files = OpenFiles()
    file = files.enter(str(path))
    file.version()

    files.before_fork()
    try:
        assert file._database is None
    finally:
        files.after_fork_in_parent()

    assert file.version() is not None
    files.leave(file)


def test_a_file_without_users_is_not_opened_again(path: Path) -> None:
    files = OpenFiles()
    file = files.enter(str(path))
    files.leave(file)

    try:
        file.version()
        raise AssertionError("it was opened")
    except interlock.StoreUnavailable as failure:
        assert "closed" in str(failure)
    assert not path.exists()
    assert isinstance(file, SharedFile)
