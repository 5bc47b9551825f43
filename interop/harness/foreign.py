"""A program in another language that does what it is told, line by line."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Self

#: Seconds for everything that should take none; a JVM on a busy machine takes its time.
SOON = 20.0


class ForeignError(Exception):
    """What a foreign program said went wrong, in its own words."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Foreign:
    """One process.  Commands carry an id, so that their answers may come in any order."""

    def __init__(self, command: Sequence[str]) -> None:
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._ids = itertools.count(1)
        self._mouth = threading.Lock()
        self._ready: Future[int] = Future()
        self._open: dict[int, Future[Any]] = {}
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()
        self._ready.result(3 * SOON)

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, **command: Any) -> Future[Any]:
        """Tell it something; its answer will be in the future."""
        outcome: Future[Any] = Future()
        number = next(self._ids)
        with self._mouth:
            self._open[number] = outcome
            self._tell({"id": number, **command})
        return outcome

    def ask(self, within: float = SOON, **command: Any) -> Any:
        """Tell it something and wait for the answer; its errors are raised."""
        return self.start(**command).result(within)

    def _tell(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._hear(json.loads(line))
        self._despair()

    def _hear(self, reply: dict[str, Any]) -> None:
        if "ready" in reply:
            self._ready.set_result(reply["ready"])
            return
        outcome = self._open.pop(reply["id"])
        if "error" in reply:
            outcome.set_exception(ForeignError(reply["error"], reply["message"]))
        else:
            outcome.set_result(reply["answer"])

    def _despair(self) -> None:
        """It has ended: whoever still waits for an answer learns that there is none."""
        self._process.wait()
        self._complaints.seek(0)
        end = ForeignError("Ended", self._complaints.read())
        with self._mouth:
            for outcome in [self._ready, *self._open.values()]:
                if not outcome.done():
                    outcome.set_exception(end)

    def kill(self) -> None:
        """End it as a power cut would, with everything it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(SOON)
        self._ear.join(SOON)

    def close(self) -> None:
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            assert pipe is not None
            # What was still to be told will not be heard.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()
