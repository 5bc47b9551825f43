"""One instance of a program with a job: `python -m … URL SKEW LOG PERIOD RETRY`.

The job writes a line when it begins and another when it ends.  Every tenth tick kills its runner
in between, the first time that it is run.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import interlock
from interlock.api import claimant
from tests.jobs.programs.deadly import DEADLY

#: Seconds that the job takes.
BRIEF = 0.005


def main(url: str, skew: str, log: str, period: str, retry: str) -> None:
    ahead = float(skew)
    claimant.wall = lambda: time.time() + ahead
    lines = os.open(log, os.O_WRONLY | os.O_APPEND)
    client = interlock.connect(url)

    @client.every(float(period), name="proof", at_most_for=0.6, retry_dead=retry == "retry")
    def job(run: interlock.Run) -> None:
        os.write(lines, f"begin {run.tick} {run.token}\n".encode())
        time.sleep(BRIEF)
        if run.tick // round(float(period) * 1000) % DEADLY == 0 and not run.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(lines, f"end {run.tick} {run.token}\n".encode())

    print("ready", flush=True)  # noqa: T201
    client.run_jobs()


main(*sys.argv[1:])
