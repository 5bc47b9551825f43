"""The program as a shell starts it, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Without `site`'s scripts, which may be elsewhere.
PROGRAM = [sys.executable, "-m", "interlock"]

#: Seconds for everything that should take none.
SOON = 20.0


class Shell:
    """Starts the program on one store, and ends what is left at the end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._started: list[subprocess.Popen[str]] = []

    @property
    def environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("INTERLOCK")}
        return {**inherited, "INTERLOCK_URL": self.url}

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start it; its standard output and error are pipes."""
        environment = {**self.environment, **options.pop("env", {})}
        program = options.pop("program", PROGRAM)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # A shell without job control would have us ignore Ctrl-C from birth.
        with inherited(signal.SIGINT, signal.default_int_handler):
            process = subprocess.Popen(
                [*program, *words], text=True, env=environment, **{**pipes, **options}
            )
        self._started.append(process)
        return process

    def run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Start it, and wait until it has ended."""
        given = options.pop("input", None)
        stdin = {} if given is None else {"stdin": subprocess.PIPE}
        process = self.start(*words, **stdin, **options)
        out, err = process.communicate(given, timeout=SOON)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@contextmanager
def inherited(number: int, handler: Any) -> Iterator[None]:
    """What is started meanwhile ignores a signal, or not, as this process does."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def hear(process: subprocess.Popen[str]) -> str:
    """The next line that it, or its command, writes."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code, and what it said of errors; it must end by itself."""
    _, err = process.communicate(timeout=SOON)
    return process.returncode, err


def state_of(pid: int) -> str:
    """The state of a process, as proc(5) has it; nothing where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that its parent has not noticed yet counts as well."""
    return state_of(pid) in ("", "Z", "X")


def children_of(pid: int) -> set[int]:
    """The children of a process."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(words[1]) == pid:
            found.add(int(stat.parent.name))
    return found


#: Starts a shell on the store of a URL.
ShellOf = Callable[[str], Shell]
