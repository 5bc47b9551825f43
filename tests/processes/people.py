"""Processes of their own: the tests tell them what to do, kill them and put them to sleep."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

from ..support.pausing import pause

PROGRAMS = Path(__file__).parent / "programs"

#: Seconds for everything that should take none.
SOON = 10.0


class Program:
    """A small program from the folder `programs`; it speaks in lines."""

    def __init__(self, name: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAMS / f"{name}.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put(None)

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, *words: object) -> None:
        """Give it a line to read."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def hear(self, within: float = SOON) -> str:
        """The next line that it writes."""
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"it said nothing for {within} s") from None
        if line is None:
            raise AssertionError(f"it ended: {self.complaint()}")
        return line

    def ask(self, *words: object, within: float = SOON) -> str:
        """Give it a line and hear the next one."""
        self.tell(*words)
        return self.hear(within)

    def expect(self, line: str, within: float = SOON) -> float:
        """The next line must be this one; how many seconds it took."""
        began = time.monotonic()
        heard = self.hear(within)
        assert heard == line, (heard, line)
        return time.monotonic() - began

    def kill(self) -> None:
        """End it as the kernel ends what takes too much memory."""
        self._process.kill()
        self._process.wait(SOON)

    def pause(self) -> None:
        """Put it to sleep, in the middle of whatever it does."""
        pause(self.pid)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def ended(self, within: float = SOON) -> int:
        """Its exit code; it must end by itself."""
        return self._process.wait(within)

    def complaint(self) -> str:
        """What it wrote about errors; only once it has ended."""
        assert self._process.stderr is not None
        self._process.wait(SOON)
        return self._process.stderr.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        # Its children too: each of them would keep the pipes open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(SOON)
        self._ear.join(SOON)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


class Worker(Program):
    """A process with one client that holds and waits as it is told."""

    def __init__(self, url: str) -> None:
        super().__init__("worker", url)

    def acquire(self, name: str = "claim", lease: float = 30.0) -> None:
        """Take a lock that is free."""
        assert self.ask("acquire", name, lease) == "held"

    def wait(self, name: str = "claim", lease: float = 30.0) -> None:
        """Stand in the queue of a lock that is held."""
        assert self.ask("acquire", name, lease) == "parked"

    def release(self) -> None:
        assert self.ask("release") == "released"
