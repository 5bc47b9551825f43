"""Processes that contend with each other, and do what they are told over a pipe."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from functools import cache
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from .peers import Entrant, Guard

_spawn = multiprocessing.get_context("spawn")


class Worker:
    """A fresh process; it runs one function at a time."""

    def __init__(self) -> None:
        self._pipe, theirs = _spawn.Pipe()
        self._process = _spawn.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()

    def tell(self, function: Callable[..., Any], *args: Any) -> None:
        """Let it run a function of a module; the answer is collected later."""
        self._pipe.send((function, args))

    def answer(self, patience: float = 60.0) -> Any:
        if not self._pipe.poll(patience):
            raise TimeoutError(f"process {self._process.pid} has not answered")
        found = self._pipe.recv()
        if isinstance(found, BaseException):
            raise found
        return found

    def ask(self, function: Callable[..., Any], *args: Any) -> Any:
        self.tell(function, *args)
        return self.answer()

    def close(self) -> None:
        """End it: kindly, then by its pid."""
        self._pipe.send(None)
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _serve(pipe: Connection) -> None:
    while (job := pipe.recv()) is not None:
        function, args = job
        try:
            pipe.send(function(*args))
        except Exception as failure:
            pipe.send(RuntimeError(f"{function.__name__}{args}: {failure!r}"))


# --- what workers do; each returns instants of the one clock that all processes share ------------


@cache
def guard_of(entrant: Entrant, place: Any, name: str) -> Guard:
    """The lock of this process, made once."""
    return entrant.make(place, name)


def prepare(entrant: Entrant, place: Any, name: str) -> None:
    """Connect, and teach the server the scripts."""
    with guard_of(entrant, place, name):
        pass


def take(entrant: Entrant, place: Any, name: str) -> int:
    """Hold from now on; the instant at which it was held."""
    guard_of(entrant, place, name).__enter__()
    return time.monotonic_ns()


def free_after(entrant: Entrant, place: Any, name: str, pause: float) -> int:
    """Give it back after a while; the instant just before."""
    time.sleep(pause)
    at = time.monotonic_ns()
    guard_of(entrant, place, name).__exit__(None, None, None)
    return at


def wait_and_free(entrant: Entrant, place: Any, name: str) -> int:
    """Take it and give it back at once; the instant at which it was held."""
    with guard_of(entrant, place, name):
        return time.monotonic_ns()


def weigh_waiting(entrant: Entrant, place: Any, name: str) -> tuple[float, float]:
    """Take it and give it back; the seconds waited, and those of the processor."""
    lock = guard_of(entrant, place, name)
    began, spent = time.monotonic(), time.process_time()
    with lock:
        return time.monotonic() - began, time.process_time() - spent


def contend(
    entrant: Entrant, place: Any, name: str, start: float, end: float, hold: float
) -> tuple[int, float, float]:
    """Take and free between two instants; how often, the longest wait, processor seconds."""
    lock, turns, longest = guard_of(entrant, place, name), 0, 0.0
    time.sleep(max(0.0, start - time.monotonic()))
    spent = time.process_time()
    while (asked := time.monotonic()) < end:
        with lock:
            held = time.monotonic()
            longest = max(longest, held - asked)
            if held < end:
                turns += 1
            if hold:
                time.sleep(hold)
    return turns, longest, time.process_time() - spent
