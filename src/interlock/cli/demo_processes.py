"""The worker processes of the demo: started, commanded, killed or paused, and ended."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any


class WorkerProcesses:
    """Worker processes, each behind a pair of pipes."""

    def __init__(self, url: str, name: str, folder: Path, lease: float) -> None:
        self._folder, self._words = folder, [name, str(folder), str(lease)]
        self._environment = {**os.environ, "INTERLOCK_URL": url}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._selector = selectors.DefaultSelector()
        self._halves: dict[int, bytes] = {}

    def start(self, number: int) -> int:
        """Start a worker and tell its pid."""
        words = ["-m", f"{__package__}.demo_worker", *self._words, str(number)]
        with self._log_of(number).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                # Ctrl-C reaches the demo alone, and the system continues a paused orphan.
                process_group=0,
            )
        self._processes[number], self._halves[number] = process, b""
        self._selector.register(_pipe(process.stdout), selectors.EVENT_READ, number)
        return process.pid

    def reports(self, pause: float) -> list[tuple[int, dict[str, Any]]]:
        """What has been reported, as it happened; waits no longer than `pause` for something."""
        ready = self._selector.select(pause)
        reports = [(key.data, report) for key, _ in ready for report in self._read(key)]
        return sorted(reports, key=lambda report: report[1]["at"])

    def _read(self, key: selectors.SelectorKey) -> list[dict[str, Any]]:
        data = os.read(key.fd, 65536)
        if not data:
            self._selector.unregister(key.fileobj)
        *lines, self._halves[key.data] = (self._halves[key.data] + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def order(self, number: int, word: str) -> None:
        """Send a worker an order; one that has ended does not get it."""
        try:
            pipe = _pipe(self._processes[number].stdin)
            pipe.write(word.encode() + b"\n")
            pipe.flush()
        except BrokenPipeError:
            pass

    def strike(self, number: int, how: signal.Signals) -> None:
        self._processes[number].send_signal(how)

    def gone(self, number: int) -> bool:
        return self._processes[number].poll() is not None

    def last_error(self, number: int) -> str:
        """The last line that a worker wrote to its standard error."""
        lines = self._log_of(number).read_text(errors="replace").split("\n")
        return next(
            (line for line in reversed(lines) if line.strip()),
            "it wrote nothing to its standard error",
        )

    def _log_of(self, number: int) -> Path:
        return self._folder / f"worker-{number}.log"

    def end_all(self) -> None:
        """End every worker that still runs, paused or not."""
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
        for process in self._processes.values():
            process.wait()
            _pipe(process.stdout).close()
            _close_quietly(_pipe(process.stdin))
        self._selector.close()


def _pipe(end: IO[bytes] | None) -> IO[bytes]:
    assert end is not None
    return end


def _close_quietly(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        pass  # an order that the worker has not read
