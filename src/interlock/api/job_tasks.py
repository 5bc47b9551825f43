"""Job loops in tasks, one for each job; SIGTERM stops them."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..jobs.loop import JobLoop
from .claimant import LoopHost, log

Loops = Sequence[tuple[JobLoop, LoopHost]]


async def run_in_tasks(session: Any, loops: Loops) -> None:
    """Run loops until they have ended; the first failure of one ends the others, and is raised.

    A cancellation cancels the jobs that run.
    """
    with _stopped_by_signals(loops):
        tasks = [asyncio.create_task(_drive(session, loop, loops)) for loop, _ in loops]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _drive(session: Any, loop: JobLoop, loops: Loops) -> None:
    await session.run(loop.steps())


def _stop(loops: Loops) -> None:
    for _, host in loops:
        host.stop()


@contextmanager
def _stopped_by_signals(loops: Loops) -> Iterator[None]:
    """In the main thread SIGTERM stops the loops, unless the program has a handler of its own.
    Ctrl-C cancels them, as it cancels every program of asyncio."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    running = asyncio.get_running_loop()

    def stop() -> None:
        log.info("SIGTERM: no job begins any more; the running ones end")
        running.remove_signal_handler(signal.SIGTERM)
        _stop(loops)

    with suppress(NotImplementedError):  # Windows
        running.add_signal_handler(signal.SIGTERM, stop)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            running.remove_signal_handler(signal.SIGTERM)
