"""Signals: while a lock is waited for they end the wait, afterwards they are for the command.

Handlers do next to nothing.  Python writes the number of each signal into a pipe (its wakeup fd),
from which the main thread reads them when it has time.
"""

from __future__ import annotations

import os
import select
import signal
from types import FrameType
from typing import Self


def _numbers(names: str) -> tuple[int, ...]:
    """The signals of these names that this system has."""
    return tuple(getattr(signal, name) for name in names.split() if hasattr(signal, name))


#: What ends a wait, and is passed on to a command.
ENDING = _numbers("SIGTERM SIGINT SIGHUP SIGQUIT")

#: What is passed on to a command.
FORWARDED = (*ENDING, *_numbers("SIGUSR1 SIGUSR2 SIGWINCH"))

#: Those that a terminal sends to a whole group, and so do we.
OF_TERMINALS = _numbers("SIGINT SIGQUIT SIGWINCH SIGTSTP")

#: What stands in the pipe where something else than a signal happened.
WAKE = 0


class Interrupted(KeyboardInterrupt):
    """A signal has ended the waiting."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class SignalInbox:
    """Takes the signals of this process, of which the ignored ones stay ignored (nohup)."""

    def __init__(self) -> None:
        #: Whether a signal ends what the main thread does.
        self.raising = True
        self._reader, self._writer = os.pipe()
        for fd in (self._reader, self._writer):
            os.set_blocking(fd, False)

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (*FORWARDED, signal.SIGCHLD):
            self._take(number)
        return self

    def __exit__(self, *exit: object) -> None:
        self.raising = False

    def _take(self, number: int) -> None:
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.raising and number in ENDING:
            self.raising = False  # cleaning up is not interrupted again
            raise Interrupted(number)

    def collect(self) -> None:
        """From now on signals are collected for the command; those of job control, too."""
        self.wait(0.0)  # what came before was not meant for it
        self.raising = False
        for number in (signal.SIGTSTP, signal.SIGCONT):
            self._take(number)

    def wake(self) -> None:
        """End a wait, in whatever thread."""
        os.write(self._writer, bytes([WAKE]))

    def wait(self, pause: float | None) -> list[int]:
        """The signals that have come; waits for one no longer than `pause`."""
        select.select((self._reader,), (), (), pause)
        try:
            return list(os.read(self._reader, 4096))
        except BlockingIOError:
            return []
