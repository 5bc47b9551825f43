"""A forked child is a client of its own; what its parent holds is the parent's."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes.people import Program

pytestmark = pytest.mark.server

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


def test_a_child_takes_locks_of_its_own(redlock_url: str) -> None:
    command = [sys.executable, "-c", FORKS, redlock_url]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_child_that_returns_into_a_call_is_refused_and_disturbs_nothing(
    redlock_url: str,
) -> None:
    with Program("returns", "pair", redlock_url) as family:
        family.expect("struck in many places", within=200)
        family.expect("children were refused")

        assert family.ended() == 0
        assert family.complaint() == ""
