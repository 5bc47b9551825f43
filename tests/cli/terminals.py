"""A terminal for tests: a program runs in it as in a window, and keys are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from typing import Self

CTRL_C, CTRL_Z, CTRL_D = "\x03", "\x1a", "\x04"

#: Makes its standard input the terminal that controls it, and becomes the program.
IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class PseudoTerminal:
    """A program in a terminal of its own, of 100 columns and 30 lines."""

    def __init__(self, *words: str, env: Mapping[str, str]) -> None:
        self._keys, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", IN_TERMINAL, *words],
            stdin=screen,
            stdout=screen,
            stderr=screen,
            env={**env, "TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(screen)
        self._seen, self._read = "", 0

    def press(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def expect(self, text: str, within: float = 20.0) -> str:
        """Read on until the terminal shows a text; what it showed before that."""
        deadline = time.monotonic() + within
        while (at := self._seen.find(text, self._read)) < 0:
            left = deadline - time.monotonic()
            assert left > 0 and self._more(left), f"no {text!r} in {self._seen!r}"
        before, self._read = self._seen[self._read : at], at + len(text)
        return before

    def _more(self, left: float) -> bool:
        """Whether the program wrote something, or may still do so."""
        if select.select((self._keys,), (), (), left)[0]:
            try:
                self._seen += os.read(self._keys, 65536).decode(errors="replace")
            except OSError:  # the program has closed its end
                return False
        return True

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def ended(self, within: float = 20.0) -> int:
        """The exit code of the program; it must end by itself."""
        deadline = time.monotonic() + within
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end: {self._seen!r}"
            self._more(0.01)  # it may wait for us to read
        return self.process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._keys)  # what is left in the terminal gets SIGHUP
