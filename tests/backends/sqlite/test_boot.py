"""Leases belong to one boot of one machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import interlock
from interlock.backends.sqlite.transport import clock
from interlock.errors import StoreMisconfigured

from ...processes.people import Worker
from ...support.worlds import World
from .raw import ask


def count(path: Path) -> list[int]:
    """How many hold, wait, are buried and are known."""
    tables = ("records WHERE name != ''", "queue", "tombs", "clients")
    return [ask(path, f"SELECT count(*) FROM {table}")[0][0] for table in tables]


def fill(path: Path, worker: Callable[[], Worker]) -> int:
    """Leave a lease, a waiter and a tombstone behind; the token of the lease."""
    holder, waiter = worker(), worker()
    holder.acquire("k", lease=3600)
    waiter.wait("k", lease=3600)
    token = int(holder.ask("token"))
    holder.kill()
    waiter.kill()
    ask(path, "INSERT INTO tombs VALUES ('somebody:1', 99999999999, '')")
    return token


def test_another_boot_voids_every_lease_waiter_and_tombstone(
    world: World,
    url: str,
    path: Path,
    worker: Callable[[], Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = fill(path, worker)
    assert count(path)[:3] == [1, 1, 1]
    monkeypatch.setattr(clock, "boot_id", lambda: "the next boot")

    hold = world.do(world.connect(url).lock("k", timeout=0).acquire)

    assert count(path)[:3] == [1, 0, 0]
    assert hold.token > token
    world.do(hold.release)


def test_the_same_boot_voids_nothing(
    client: interlock.Client, path: Path, worker: Callable[[], Worker]
) -> None:
    fill(path, worker)

    assert client.lock("k").acquire(blocking=False) is None
    assert count(path)[:3] == [1, 1, 1]


def test_whoever_lives_when_another_machine_comes_is_told_and_voids_nothing(
    world: World, url: str, path: Path
) -> None:
    client = world.connect(url)
    world.do(world.do(client.lock("k").acquire).release)
    # What another machine does when it opens the file, and then takes a lock.
    ask(path, "UPDATE records SET owner = 'another boot' WHERE name = ''")
    ask(path, "INSERT INTO records VALUES ('k', 'another:1', 'lock', 1, 99999999999, 1, 1)")

    for _ in range(2):
        with pytest.raises(StoreMisconfigured, match="another machine has taken it over"):
            world.do(client.lock("j").acquire)

    assert ask(path, "SELECT owner FROM records ORDER BY name") == [
        ("another boot",),
        ("another:1",),
    ]


def test_a_clock_in_another_time_namespace_counts_the_same_lease(
    url: str,
    path: Path,
    tmp_path: Path,
    worker: Callable[[], Worker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holder = worker()
    holder.acquire("k", lease=30)
    real = time.clock_gettime_ns
    table = tmp_path / "timens_offsets"
    table.write_text("monotonic 0 0\nboottime 86400 0\n")
    monkeypatch.setattr(clock, "OFFSETS", table)
    monkeypatch.setattr(
        time, "clock_gettime_ns", lambda which: real(which) + 86_400 * 1_000_000_000
    )

    with interlock.connect(url) as client:
        assert client.lock("k").acquire(blocking=False) is None
        info = client._session.run(client._session.backend.locks.look("k", float("inf")))

    assert info is not None
    assert info.expires_in is not None
    assert 20 < info.expires_in <= 30
