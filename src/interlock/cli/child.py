"""A command as a child process: found early, started when it may, in a group of its own."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from . import codes
from .launch import FOREGROUND

LAUNCH = Path(__file__).with_name("launch.py")


class CommandFailed(Exception):
    """The command cannot be started; the sentence says why, and `code` is the exit code."""

    def __init__(self, word: str, number: int) -> None:
        why = "was not found" if number == errno.ENOENT else f"fails: {os.strerror(number)}"
        super().__init__(f"command {word!r} {why}")
        self.code = codes.NOT_FOUND if number == errno.ENOENT else codes.CANNOT_EXECUTE


def find_program(word: str) -> str:
    """The file that a command means, or CommandFailed, before anything is waited for."""
    if (found := shutil.which(word)) is not None:
        return found
    there = Path(word).exists() if "/" in word else shutil.which(word, os.F_OK)
    raise CommandFailed(word, errno.EACCES if there else errno.ENOENT)


class Child:
    """A command that waits to be started: see `launch`.

    It ends when the thread that made it does, so that is one which stays: the main thread.
    """

    def __init__(self, path: str, words: Sequence[str]) -> None:
        self._word = words[0]
        go, self._go = os.pipe()
        self._status, status = os.pipe()
        for each in (go, status):
            os.set_inheritable(each, True)
        fds = (str(go), str(status))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCH), *fds, path, *words],
            process_group=0,
            # The command has what the shell has opened for it; what is ours closes at exec.
            close_fds=False,
        )
        os.close(go)
        os.close(status)

    @property
    def pid(self) -> int:
        """Of the process, and of its group."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    @property
    def code(self) -> int:
        """The exit code of the command, once it has ended."""
        return codes.of_status(self._process.returncode)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended the command."""
        return self._process.returncode == -signal.SIGINT

    def start(self, environment: Mapping[str, str], foreground: bool) -> None:
        """Let the command begin, with more in its environment; perhaps with the terminal."""
        fields = [FOREGROUND if foreground else b""]
        fields += [os.fsencode(f"{name}={value}") for name, value in environment.items()]
        with suppress(BrokenPipeError):
            os.write(self._go, b"\0".join(fields))
        os.close(self._go)
        self._go = -1
        if number := os.read(self._status, 16):
            raise CommandFailed(self._word, int(number))

    def note(self, status: int) -> None:
        """It was reaped, and this is what the kernel said of it."""
        self._process.returncode = os.waitstatus_to_exitcode(status)

    def signal(self, number: int, group: bool) -> None:
        """Pass a signal on: to the command alone, or to its group, as a terminal does."""
        if not self.ended:
            with suppress(ProcessLookupError, PermissionError):
                (os.killpg if group else os.kill)(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        if self._go >= 0:
            os.close(self._go)  # which ends it, if it was not started
        os.close(self._status)
        if not self.ended:
            self._process.wait()
