"""A program that runs jobs ends when it is told to, after the job that runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import interlock

PROGRAM = "tests.jobs.programs.stopped"

CASES = [
    ("threads", signal.SIGTERM),
    ("threads", signal.SIGINT),
    ("tasks", signal.SIGTERM),
]


@pytest.mark.parametrize(("world", "number"), CASES, ids=lambda each: getattr(each, "name", each))
def test_a_signal_ends_it_after_the_running_job(
    world: str, number: signal.Signals, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/locks.db"
    words = [sys.executable, "-m", PROGRAM, url, world]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begin\n"
        program.send_signal(number)
        said = program.stdout.read()

    assert said == "end\nover\n"
    assert program.returncode == 0
    with interlock.connect(url) as client:
        assert client.inspect("job:work") is None
