"""A fork does not split the world: parent and child go on with the same file."""

from __future__ import annotations

from pathlib import Path

import interlock
from interlock.backends.sqlite.world import World, Worlds

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


def test_nothing_is_open_while_a_process_forks(client: interlock.Client, path: Path) -> None:
    with client.lock("k"):
        pass
    worlds = Worlds()
    world = worlds.enter(str(path))
    world.version()

    worlds.brace()
    try:
        assert world._database is None
    finally:
        worlds.relax()

    assert world.version() is not None
    worlds.leave(world)


def test_a_world_without_users_is_not_opened_again(path: Path) -> None:
    worlds = Worlds()
    world = worlds.enter(str(path))
    worlds.leave(world)

    try:
        world.version()
        raise AssertionError("it was opened")
    except interlock.StoreUnavailable as failure:
        assert "closed" in str(failure)
    assert not path.exists()
    assert isinstance(world, World)
