"""What the commands say on standard error: one sentence, with the program's name before it."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

#: A loss is told by the command that has the lock, with what becomes of it.
TOLD_ELSEWHERE = ("interlock.hold",)

#: Remarks on who holds what has been waited for long.
WAITING = "interlock.lock"


def say(sentence: str) -> None:
    """Tell the person at the terminal, or the log of the job, something."""
    with unstopped():
        os.write(2, f"interlock: {sentence}\n".encode(errors="backslashreplace"))


@contextmanager
def unstopped() -> Iterator[None]:
    """The terminal may belong to the command, and would stop us for touching it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTTOU,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class MessageHandler(logging.Handler):
    """Says what the library logs."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name not in TOLD_ELSEWHERE:
            say(record.getMessage())


def show_log(verbose: bool) -> None:
    """Have warnings of the library said, and what it merely remarks where that is wanted; to a
    person at a terminal, what is waited for in any case."""
    log = logging.getLogger("interlock")
    log.addHandler(MessageHandler())
    log.setLevel(logging.INFO if verbose else logging.WARNING)
    if os.isatty(2):
        logging.getLogger(WAITING).setLevel(logging.INFO)
