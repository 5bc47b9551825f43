"""A real PostgreSQL for tests: in a temporary folder, on a socket there, ended by its pid."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import psycopg

from .eventually import eventually

#: Where Debian's package has the programs of each version.
DEBIAN = Path("/usr/lib/postgresql")

#: No disk work: nothing here has to outlive the machine.
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "40",
}


def program(name: str) -> str:
    """The newest `postgres` or `initdb` that there is."""
    found = [shutil.which(name), *map(str, sorted(DEBIAN.glob(f"*/bin/{name}"), reverse=True))]
    for path in filter(None, found):
        return path
    raise RuntimeError("PostgreSQL is not installed: apt-get install postgresql")


def unprivileged() -> dict[str, int | list[int]]:
    """PostgreSQL refuses to run as root: then it runs as the user `nobody`."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class PostgresServer:
    """A server of our own, without passwords; only what can open its folder reaches it."""

    def __init__(self) -> None:
        # Short, because the path of a socket must be.
        self.folder = Path(tempfile.mkdtemp(prefix="interlock-pg-", dir="/tmp"))
        self._user = unprivileged()
        if self._user:
            os.chown(self.folder, int(str(self._user["user"])), int(str(self._user["group"])))
        self._initialise()
        self._process = self._started()
        eventually(self._answers, within=30)

    @property
    def dsn(self) -> str:
        return f"host={self.folder} user=postgres dbname=postgres"

    @property
    def sqlalchemy_url(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self.folder}"

    def _initialise(self) -> None:
        how = (
            "--auth=trust",
            "--username=postgres",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
        )
        subprocess.run(
            [program("initdb"), *how, str(self.folder / "data")],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **self._user,  # type: ignore[call-overload]
        )

    def _started(self) -> subprocess.Popen[bytes]:
        settings = {**SETTINGS, "unix_socket_directories": self.folder}
        words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        with (self.folder / "log").open("wb") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                [program("postgres"), "-D", str(self.folder / "data"), *words],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._user,  # type: ignore[call-overload]
            )
        return process

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self.folder / "log").read_text()
        try:
            psycopg.connect(self.dsn).close()
        except psycopg.OperationalError:
            return False
        return True

    def close(self) -> None:
        """End it, its connections as well, and remove its data."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(timeout=10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()
