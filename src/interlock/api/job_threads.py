"""Job loops in threads, one for each job; signals stop them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..drive import now
from ..jobs.loop import JobLoop
from ..parking import ThreadWakes
from .claimant import LoopHost, log

Loops = Sequence[tuple[JobLoop, LoopHost]]

#: Seconds; the main thread looks for itself that often.
HOUR = 3600.0


class JobThreads:
    """The threads of the loops, as the one sees them that waits for their end."""

    def __init__(self, session: Any, loops: Loops) -> None:
        self._session, self._loops = session, loops
        self._ended, self._failure = ThreadWakes(), None
        self._left = len(loops)
        self._mutex = threading.Lock()

    def run(self) -> None:
        """Start a thread for each loop, and wait until all have ended; raises what one raised."""
        for loop, host in self._loops:
            name = f"interlock job {host.name}"
            threading.Thread(target=self._drive, args=(loop,), name=name, daemon=True).start()
        while self._left:
            self._ended.wait(now() + HOUR)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        for _, host in self._loops:
            host.stop()

    def _drive(self, loop: JobLoop) -> None:
        failure: Any = None
        try:
            self._session.run(loop.steps())
        except BaseException as error:
            failure = error
            self.stop()
        finally:
            with self._mutex:
                self._failure = self._failure or failure
                self._left -= 1
            self._ended.wake()


def run_in_threads(session: Any, loops: Loops) -> None:
    """Run loops until they have ended; the first failure of one ends the others, and is raised."""
    threads = JobThreads(session, loops)
    with _stopped_by_signals(threads):
        threads.run()


@contextmanager
def _stopped_by_signals(threads: JobThreads) -> Iterator[None]:
    """In the main thread the first signal stops the loops, and the next one does what it did
    before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

    def stop(number: int, frame: object) -> None:
        log.info("%s: no job begins any more; the running ones end", signal.Signals(number).name)
        _restore(before)
        threads.stop()

    for each in before:
        signal.signal(each, stop)
    try:
        yield
    finally:
        _restore(before)


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        if handler is not None:  # else it was not installed by Python
            signal.signal(number, handler)
