"""Who the terminal talks to: a command in a group of its own is handed it, and gives it back."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from .messages import unstopped


class Terminal:
    """The terminal that controls this process."""

    def __init__(self, fd: int) -> None:
        self._fd, self._modes = fd, _modes(fd)
        #: Whether the command has it, or had it when it stopped.
        self.given = False

    @property
    def ours(self) -> bool:
        """Whether the terminal talks to our process group just now."""
        with suppress(OSError):
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        return False

    @property
    def alone(self) -> bool:
        """Whether no other process is there that wants the terminal: one of a pipeline, or the
        shell of a script, which must hear of Ctrl-C as well."""
        return os.getpgrp() == os.getpid() and os.isatty(0) and os.isatty(1)

    def give(self, group: int) -> bool:
        """Hand it to a process group, if we have it."""
        if not self.ours:
            return False
        self.given = True
        return self._set(group)

    def take_back(self) -> None:
        """Have it again, if the command has it."""
        if self.given:
            self._set(os.getpgrp())

    def restore(self) -> None:
        """Put its modes back as they were: a command that was killed could not."""
        if self._modes is not None:
            import termios

            with suppress(termios.error), unstopped():
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._modes)

    def _set(self, group: int) -> bool:
        with suppress(OSError), unstopped():
            os.tcsetpgrp(self._fd, group)
            return True
        return False


def _modes(fd: int) -> list[Any] | None:
    import termios  # which Windows has not

    with suppress(termios.error):
        return termios.tcgetattr(fd)
    return None


def open_terminal() -> Terminal | None:
    """The terminal that controls this process, if there is one."""
    try:
        return Terminal(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return None
