"""Pausing a process, for sure."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from .eventually import eventually


def pause(pid: int) -> None:
    """Stop a process, and wait until each of its threads has stopped.

    The signal is delivered to one thread, which stops the others when it runs: on a busy machine
    another one may go on meanwhile, and take what is handed to it.
    """
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: _states(pid) <= {"T", "t"})


def _states(pid: int) -> set[str]:
    """The states of the threads of a process: T is stopped; see proc(5)."""
    stats = Path(f"/proc/{pid}/task").glob("*/stat")
    return {stat.read_text().rpartition(")")[2].split()[0] for stat in stats}
