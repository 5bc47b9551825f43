"""A forked child has an identity of its own, holds nothing, and frees nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import interlock

from .people import Program


@pytest.mark.parametrize("way", ["leaves", "exits", "dies", "raises", "closes"])
def test_a_child_that_goes_away_does_not_free_its_parents_lock(
    url: str, onlooker: interlock.Client, way: str
) -> None:
    with Program("forks", url, way) as parent:
        parent.expect("child 0 parent True")

        assert onlooker.lock("claim").acquire(blocking=False) is None
        parent.tell("go on")
        parent.expect("left")
        assert onlooker.lock("claim").acquire(blocking=False) is not None
        assert parent.ended() == 0
        assert parent.complaint() == ""


def test_a_child_cannot_release_its_parents_lock(url: str, onlooker: interlock.Client) -> None:
    with Program("forks", url, "releases") as parent:
        parent.expect("lost True")
        parent.expect("hold.release NotHeld")
        parent.expect("hold.ensure LockLost")
        parent.expect("lock.release NotHeld")
        parent.expect("child 0 parent True")

        assert onlooker.lock("claim").acquire(blocking=False) is None


def test_a_child_takes_locks_of_its_own_under_another_identity(url: str) -> None:
    with Program("forks", url, "tries") as parent:
        parent.expect("claim None")
        parent.expect("own True True")
        parent.expect("kept got None")
        parent.expect("child 0 parent True")


def test_a_child_of_a_task_does_not_free_its_parents_lock(
    url: str, onlooker: interlock.Client
) -> None:
    with Program("forks_aio", url) as parent:
        parent.expect("lost True")
        parent.expect("parent True")

        assert onlooker.lock("claim").acquire(blocking=False) is None
        parent.tell("go on")
        parent.expect("left")
        assert onlooker.lock("claim").acquire(blocking=False) is not None
        assert parent.ended() == 0


def test_a_fork_in_the_middle_of_other_threads_deadlocks_nobody(url: str) -> None:
    with Program("crowd", url) as crowd:
        crowd.expect("25", within=30)

        assert crowd.ended() == 0


def test_a_client_made_before_the_fork_works_in_every_worker(url: str, tmp_path: Path) -> None:
    with Program("prefork", url, f"{tmp_path}/counter") as server:
        server.expect("4 125", within=30)

        assert server.ended() == 0
        assert server.complaint() == ""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_processes_of_multiprocessing_exclude_each_other(
    url: str, tmp_path: Path, method: str
) -> None:
    with Program("pool", url, f"{tmp_path}/counter", method) as pool:
        pool.expect("3 45 True", within=30)

        assert pool.ended() == 0
        assert pool.complaint() == ""
