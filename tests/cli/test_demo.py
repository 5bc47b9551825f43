"""The demo ends by itself, tells the truth, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

DEMO = [sys.executable, "-m", "interlock", "demo"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the demo makes its temporary folder."""
    return tmp_path


def start(place: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(place), **variables}
    environment.pop("INTERLOCK_URL", None)
    return subprocess.Popen(
        [*DEMO, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A shell without job control would have us ignore Ctrl-C from birth.
        preexec_fn=_mind_interrupts,
    )


def _mind_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def workers(place: Path) -> set[int]:
    """The workers of the demo that was started in `place`, by what they were started with."""
    return {int(each.name) for each in Path("/proc").iterdir() if _works_in(each, place)}


def _works_in(process: Path, place: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.startswith(f"{place}/interlock-demo-".encode()) for word in words)


def await_that(true: Callable[[], bool], seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def demo(place: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo under way: a worker has been paused while it held the lock."""
    process = start(place, "--plain", "--seconds", "1")
    assert process.stdout is not None
    for line in process.stdout:
        if "SIGSTOP" in line:
            break
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_demo_ends_well_by_itself(place: Path) -> None:
    process = start(place, "--plain", "--seconds", "6")

    out, err = process.communicate(timeout=100)

    assert (process.returncode, err) == (0, "")
    assert "refused, stale token" in out
    assert "LockLost" in out
    assert "All is well" in out
    assert list(place.iterdir()) == []
    assert workers(place) == set()


#: Python runs this before anything else: a store that grants the lock to every owner that asks.
SABOTAGE = """
from interlock import ledger
from interlock.ledger import locks

def attempt(records, name, kind, owner, lease, waits):
    for held in records.held(name):
        records.drop(name, held.owner)
    records.put(name, kind, owner, 1, lease)
    return ledger.GRANTED, records.next_token(name, owner)

locks.attempt = attempt
"""


@pytest.mark.slow
def test_demo_of_a_lock_that_does_not_lock_ends_badly(place: Path) -> None:
    path = place / "sabotage"
    path.mkdir()
    (path / "sitecustomize.py").write_text(SABOTAGE)
    process = start(place, "--plain", "--seconds", "2", PYTHONPATH=str(path))

    out, _ = process.communicate(timeout=100)

    assert process.returncode == 1
    assert "Not well: the counter is" in out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_demo_leaves_nothing_behind(
    demo: subprocess.Popen[str], place: Path, number: signal.Signals
) -> None:
    demo.send_signal(number)

    demo.communicate(timeout=30)

    assert demo.returncode == 130
    assert list(place.iterdir()) == []
    assert workers(place) == set()


@pytest.mark.slow
def test_killed_demo_leaves_no_process_behind(demo: subprocess.Popen[str], place: Path) -> None:
    demo.kill()
    demo.wait()

    await_that(lambda: workers(place) == set())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--url", "memory://"], "memory:// is one process's own"),
        (["--url", "etcd://host"], "is not a store that Interlock knows"),
        (["--seconds", "0"], "between 1 and 3600"),
    ],
)
def test_wrong_words_get_a_sentence(words: list[str], sentence: str, place: Path) -> None:
    process = start(place, *words)

    _, err = process.communicate(timeout=30)

    assert process.returncode == 64
    assert sentence in err
    assert "Traceback" not in err


def test_store_out_of_reach_gets_a_sentence_without_the_password(place: Path) -> None:
    process = start(place, "--plain", "--url", "redis://:canary@127.0.0.1:1")

    out, err = process.communicate(timeout=60)

    assert process.returncode == 69
    assert "127.0.0.1:1" in err
    assert "canary" not in out + err
