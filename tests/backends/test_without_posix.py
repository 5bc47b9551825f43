"""Interlock on a Python that has no fcntl, no poll, no unix sockets: see `without_posix`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def play(*words: str) -> subprocess.CompletedProcess[str]:
    """Run what is tried where the modules are hidden."""
    command = [sys.executable, "-X", "dev", "-m", f"{__package__}.without_posix", *words]
    environment = {name: os.environ[name] for name in os.environ if name != "INTERLOCK_URL"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.fixture(params=["memory", "redis_url", "zk_url"])
def url(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else request.getfixturevalue(request.param)


@pytest.fixture(params=["threads", "tasks"])
def world(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_lock_is_kept_waited_for_and_handed_over(world: str, url: str) -> None:
    played = play("contend", world, url)

    assert (played.returncode, played.stderr) == (0, "")


def test_the_default_store_says_in_one_sentence_what_to_use(world: str) -> None:
    refusal = play("refuse", world, "").stdout

    assert refusal.startswith("Unsupported: sqlite: needs a POSIX system")
    assert refusal.count("\n") == 1
    for word in ("INTERLOCK_URL", "redis://", "zk://", "memory://"):
        assert word in refusal


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("sqlite:machine", "needs a POSIX system"),
        ("sqlite:///C:/locks.db", "needs a POSIX system"),
        ("unix:///run/redis.sock", "no unix sockets; use redis://"),
    ],
)
def test_what_needs_posix_is_refused_by_its_name(world: str, store: str, words: str) -> None:
    refusal = play("refuse", world, store).stdout

    assert refusal.startswith("Unsupported: ")
    assert words in refusal


def test_every_module_can_be_loaded() -> None:
    played = play("load")

    assert (played.returncode, played.stdout) == (0, "")


def test_the_demo_says_that_it_cannot_run() -> None:
    played = play("demonstrate")

    assert played.returncode == 64
    assert played.stderr.startswith(
        "interlock: the demo pauses a process, which needs a POSIX system"
    )
