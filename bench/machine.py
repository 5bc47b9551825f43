"""Where and with what the figures were measured."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import sqlite3
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import interlock

from . import programs
from .report import Figures

PACKAGES = (
    "interlock",
    "redis",
    "hiredis",
    "python-redis-lock",
    "redlock-ng",
    "walrus",
    "pottery",
    "filelock",
    "diskcache",
    "kazoo",
)


def describe() -> Figures:
    """The machine, the versions, the date, the commit and the command."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _output("git", "describe", "--always", "--dirty"),
        "sources": fingerprint(),
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.release()}",
        "load": [round(each, 2) for each in os.getloadavg()],
        "versions": {**_versions(), **_packages(), **programs.versions()},
    }


def fingerprint() -> str:
    """What the library's sources are right now: a run over changing sources is no run."""
    folder = Path(interlock.__file__).parent
    files = sorted(each for each in folder.rglob("*") if each.suffix in (".py", ".lua", ".sql"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _versions() -> dict[str, str]:
    words = _output("redis-server", "--version").split()
    server = next((word[2:] for word in words if word.startswith("v=")), "none")
    return {
        "python": platform.python_version(),
        "redis-server": server,
        "sqlite": sqlite3.sqlite_version,
    }


def _packages() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return ""
    return done.stdout.strip()
