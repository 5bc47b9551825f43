"""One client on two event loops, in Python's development mode: nothing is touched from afar."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.tasks import TaskWakes

from ..support.stores import STORES
from ..support.stores import url_of as url_of

PROGRAM = Path(__file__).parent / "programs" / "two_loops.py"


@pytest.mark.parametrize("backend", STORES)
def test_nothing_is_touched_from_another_loop(backend: str, url_of: Callable[[str], str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", str(PROGRAM), url_of(backend)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "the end", "")


def test_a_waiter_whose_loop_was_closed_is_woken_without_harm() -> None:
    wakes = TaskWakes()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(wakes.wait(float("inf")))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    wakes.wake()

    assert not waiting.done()
    waiting.get_coro().close()
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]
