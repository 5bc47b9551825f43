"""Becomes the command of `interlock run` once it is told to.  Started as a script by `child`.

In a process with threads almost nothing may be done between fork and exec, so what has to be done
there is done here, in a program of its own: it imports nothing but the standard library, starts
while the lock is still waited for, and ends with `interlock run` whatever becomes of that.
"""

from __future__ import annotations

import errno
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

#: What the message begins with that hands over the terminal.
FOREGROUND = b"foreground"

#: What Python ignores, and no command expects to be ignored.
IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")


def main(go: str, status: str, path: str, *words: str) -> None:
    """Wait for the word, and become the command; or tell why not, by number."""
    os.set_inheritable(int(status), False)
    die_with_parent()
    message = _read(int(go))
    if not message:
        os._exit(0)  # not granted, or the parent has gone
    try:
        foreground, *variables = message.split(b"\0")
        for each in variables:
            name, _, value = each.partition(b"=")
            os.environb[name] = value
        if foreground == FOREGROUND:
            _take_terminal()
        become(path, words)
    except OSError as failure:
        os.write(int(status), str(failure.errno).encode())
        os._exit(127)


def become(path: str, words: tuple[str, ...]) -> None:
    """Replace this process by a program; only an error returns.

    A script without a first line that names its interpreter is the shell's, as for `env`.
    """
    for name in IGNORED_BY_PYTHON:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execv(path, words)
    except OSError as failure:
        if failure.errno != errno.ENOEXEC:
            raise
    os.execv("/bin/sh", ["/bin/sh", path, *words[1:]])


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, where it can.

    It stays so after the exec, unless the program runs as another user.
    """
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def prctl(option: int, value: int) -> bool:
    """Ask Linux for something that Python has no function for; False where it is refused."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _take_terminal() -> None:
    """Make this process group the one that the terminal talks to."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTTOU,))
        os.tcsetpgrp(terminal, os.getpgrp())
    except OSError:
        pass  # the command will ask for it when it reads
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTTOU,))
        os.close(terminal)


def _read(pipe: int) -> bytes:
    parts = []
    while part := os.read(pipe, 65536):
        parts.append(part)
    os.close(pipe)
    return b"".join(parts)


if __name__ == "__main__":
    main(*sys.argv[1:])
