"""The example of a backend is a plugin that keeps the contract, in 150 lines."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import interlock
from interlock import aio
from interlock.api.connect import find_backend
from interlock.errors import StoreMisconfigured, StoreUnavailable, Unsupported, UsageError
from interlock.testing.contract import Case, cases

from .conftest import EXAMPLE

CASES = cases(["jsonfile"], kinds=("lock", "mutex"))

#: What is claimed of locks and mutexes beside things that the example does not offer.
NEED_MORE = {
    "test_a_name_in_use_as_another_kind_is_refused_and_not_touched",
    "test_a_name_that_is_free_may_become_another_kind",
    "test_a_sibling_is_refused_another_kind_as_well",
    "test_an_onlooker_finds_everything_that_is_in_use",
    "test_an_onlooker_of_the_wrong_kind_is_told_so",
    "test_another_loop_is_refused_at_once_whatever_it_asks",
    "test_without_any_loop_an_asyncio_client_says_what_it_needs",
}

#: Takes the lock, or fails after half a second.
OTHER_PROCESS = """
import sys, interlock
with interlock.connect(sys.argv[1]) as client, client.lock("orders", timeout=0.5) as hold:
    print(hold.token)
"""


#: A child is a client of its own; what its parent holds is the parent's.
FORKS = """
import os, sys, time, interlock
client = interlock.connect(sys.argv[1])
with client.lock("orders", lease=0.5) as hold:
    if os.fork() == 0:
        with client.lock("stock", lease=0.5, timeout=5) as mine:
            time.sleep(1)
            mine.ensure()
        os._exit(7 if client.lock("orders").acquire(blocking=False) is None else 8)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
    hold.ensure()
"""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_claim(case: Case, url: str) -> None:
    try:
        case.prove(lambda: find_backend(url, {}))
    except pytest.skip.Exception:
        assert case.claim.__name__ in NEED_MORE
        raise
    assert case.claim.__name__ not in NEED_MORE


def test_every_claim_that_needs_more_is_a_claim() -> None:
    assert {case.claim.__name__ for case in CASES} >= NEED_MORE
    assert len(CASES) > 400


def test_it_is_short() -> None:
    files = [path.read_text() for path in EXAMPLE.rglob("*.py")]

    assert sum(text.count("\n") for text in files) <= 150


def other_process(
    plugin: Path, url: str, program: str = OTHER_PROCESS
) -> subprocess.CompletedProcess[str]:
    """A program that has the plugin installed, and knows nothing but the URL."""
    command = [sys.executable, "-c", program, url]
    where = {**os.environ, "PYTHONPATH": str(plugin)}
    return subprocess.run(command, env=where, capture_output=True, text=True, timeout=30)


def test_processes_exclude_each_other(plugin: Path, url: str) -> None:
    with interlock.connect(url) as client, client.lock("orders") as hold:
        refused = other_process(plugin, url)
        assert "AcquireTimeout" in refused.stderr
        assert f":{os.getpid()} " in refused.stderr

    assert int(other_process(plugin, url).stdout) > hold.token


def test_a_forked_child_is_a_client_of_its_own(plugin: Path, url: str) -> None:
    forked = other_process(plugin, url, FORKS)

    assert (forked.stdout.strip(), forked.stderr) == ("7", "")


def test_it_is_asked_for_by_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_URL", url)

    with interlock.connect() as client, client.mutex("orders") as hold:
        assert client._session.backend.label == url
        assert not hold.lost


def test_its_options_are_those_of_its_factory(url: str) -> None:
    unchecked: Callable[..., interlock.Client] = interlock.connect
    with unchecked(url, patience=1.0) as client, client.lock("orders"):
        pass
    with pytest.raises(TypeError, match=r"does not take 'colour' for this store, but patience$"):
        unchecked(url, colour=1)
    with pytest.raises(TypeError, match=r"'username'.*but patience$"):
        interlock.connect(url, username="ann")


def test_a_file_that_is_locked_for_too_long_is_unavailable(url: str) -> None:
    import fcntl

    unchecked: Callable[..., interlock.Client] = interlock.connect
    path = url.removeprefix("jsonfile://")
    with unchecked(url, patience=0.05) as client, Path(f"{path}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable, match="in use by other processes"):
            client.lock("orders").acquire(blocking=False)


def test_a_wrong_url_is_told_how_to_write_it(plugin: Path) -> None:
    with pytest.raises(UsageError, match=r"jsonfile:///run/locks\.json"):
        interlock.connect("jsonfile://host/locks.json")


def test_what_it_does_not_offer_names_stores_that_do(url: str) -> None:
    with interlock.connect(url) as client:
        with pytest.raises(Unsupported, match=r"has no semaphore\(\); memory://, SQLite, Redis"):
            client.semaphore("gpu", permits=1)
        with pytest.raises(Unsupported, match=r"has no rwlock\(\); memory://"):
            client.rwlock("cache").read().acquire()


def test_a_name_is_one_kind_of_thing(url: str) -> None:
    with interlock.connect(url) as client, client.lock("orders"):
        with pytest.raises(StoreMisconfigured, match="is a lock, so it cannot be a mutex"):
            client.mutex("orders").acquire(timeout=1)
        with pytest.raises(StoreMisconfigured, match="is a lock, so it cannot be a mutex"):
            client.mutex("orders").locked()


def test_threads_and_tasks_share_a_file(url: str) -> None:
    async def main() -> int:
        async with aio.connect(url) as tasks, tasks.lock("orders") as hold:
            return hold.token

    with interlock.connect(url) as threads:
        held = threads.lock("orders").acquire()
        timer = threading.Timer(0.2, held.release)
        timer.start()
        assert asyncio.run(main()) > held.token
        timer.join()
