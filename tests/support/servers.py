"""Real servers for tests: started on a free loopback port, ended by their pid."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Self

from .pausing import pause


def free_port() -> int:
    """A loopback port that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Whether a loopback port is used by no process right now."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def server_program() -> str:
    """The server that tests start: `INTERLOCK_REDIS_SERVER`, or what the machine has."""
    chosen = os.environ.get("INTERLOCK_REDIS_SERVER")
    program = chosen or shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise RuntimeError("redis-server is not installed: apt-get install redis-server")
    return program


@cache
def server_version(program: str) -> tuple[int, ...]:
    """The numbers of a server's version."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"v=(\d+)\.(\d+)", told.stdout)
    assert found is not None, told.stdout
    return tuple(map(int, found.groups()))


def _debugging(program: str) -> list[str]:
    """Before 7.0 DEBUG was always there, and so was no word for it."""
    return ["--enable-debug-command", "local"] if server_version(program) >= (7, 0) else []


class RedisServer:
    """A redis-server of our own, with its data in a temporary folder.

    `options` are settings as on the command line: `RedisServer("--appendonly", "yes")`.
    """

    def __init__(self, *options: str, port: int | None = None) -> None:
        self.port = free_port() if port is None else port
        self.options = options
        self.folder = Path(tempfile.mkdtemp(prefix="interlock-redis-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it (again, on the same port, with the data it left)."""
        self._process = subprocess.Popen(
            self._command_line(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._await_answer()

    def _command_line(self) -> list[str]:
        program = server_program()
        settings = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder, "save": ""}
        words = [word for key, value in settings.items() for word in (f"--{key}", str(value))]
        # Before 7.0 the words of a setting stand for themselves.
        said = [word for option in self.options for word in option.split(" ")]
        return [program, *words, *_debugging(program), *said]

    def _await_answer(self) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), self._connection() as probe:
                probe.sendall(b"PING\r\n")
                if probe.recv(64):
                    return
            time.sleep(0.005)
        raise RuntimeError(f"redis-server did not start: {self._command_line()}")

    def _connection(self) -> socket.socket:
        if "--port" in self.options and "--unixsocket" in self.options:
            probe = socket.socket(socket.AF_UNIX)
            try:
                probe.connect(self.options[self.options.index("--unixsocket") + 1])
            except OSError:
                probe.close()
                raise
            return probe
        return socket.create_connection(("127.0.0.1", self.port), timeout=1)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """End it in good order."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(timeout=10)

    def pause(self) -> None:
        """Stop it from running; its sockets stay open."""
        assert self._process is not None
        pause(self._process.pid)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its data."""
        if self._process is not None and self._process.poll() is None:
            self.resume()
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()
