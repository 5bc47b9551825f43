"""Python as it is on Windows, as far as Linux can play it; a program of `test_without_posix`.

What Windows lacks is hidden before anything of Interlock, redis-py or kazoo is imported; only
the standard library was there first, for it was built for another system.  Not played are
the event loop of Windows, its clock, its sockets and its paths.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib import resources
from types import ModuleType
from typing import Any

import click

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")

#: What a module of Windows does not have; all of it, where a word ends in *.
MISSING: dict[ModuleType, str] = {
    os: "fork forkpty register_at_fork uname geteuid getuid getegid getgid setuid seteuid "
    "setgid getgroups setgroups chown fchown lchown fchmod statvfs ST_* O_DIRECTORY O_CLOEXEC "
    "O_NOFOLLOW O_NONBLOCK killpg getpgid setsid sched_* posix_spawn*",
    select: "poll epoll EPOLL* POLL*",
    signal: "SIGKILL SIGSTOP SIGCONT SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGQUIT pthread_* setitimer "
    "getitimer siginterrupt sigwait* alarm pause",
    socket: "AF_UNIX SO_REUSEPORT SOCK_CLOEXEC SOCK_NONBLOCK MSG_DONTWAIT MSG_NOSIGNAL "
    "TCP_USER_TIMEOUT CMSG_LEN",
    time: "clock_gettime* clock_settime* clock_getres pthread_getcpuclockid CLOCK_* tzset",
}

#: What is used later, and could not be imported then.
LOADED = (asyncio, click, logging, resources, selectors, subprocess, tempfile, threading)


def hide() -> None:
    """Take away what Windows does not have."""
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, words in MISSING.items():
        for word in words.split():
            for name in _matching(module, word):
                delattr(module, name)
    socket.socketpair = _socketpair  # type: ignore[assignment]
    selectors.DefaultSelector = selectors.SelectSelector  # type: ignore[misc,assignment]
    sys.platform = "win32"


def _matching(module: ModuleType, word: str) -> list[str]:
    if not word.endswith("*"):
        return [word] if hasattr(module, word) else []
    return [name for name in dir(module) if name.startswith(word[:-1])]


def _socketpair(*_: object) -> tuple[socket.socket, socket.socket]:
    """Two connected sockets, as Python makes them where the system does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _address = server.accept()
    return near, far


# --- what is tried ------------------------------------------------------------------------------


def contend(name: str, url: str) -> None:
    """Hold a lock until it has been renewed, let another client wait for it, and hand it over."""
    from interlock.events import Event, Parked, Renewed

    from ..support.worlds import WORLDS

    logging.basicConfig()  # what the keeper bears, and tries again, is a complaint here
    seen: dict[type, threading.Semaphore] = {
        kind: threading.Semaphore(0) for kind in (Parked, Renewed)
    }

    def observe(event: Event) -> None:
        if type(event) in seen:
            seen[type(event)].release()

    world = WORLDS[name]()
    holder, waiter = (world.connect(url, observer=observe) for _ in range(2))
    hold = world.do(holder.lock("k", lease=0.9).acquire)
    for _ in range(2):
        assert seen[Renewed].acquire(timeout=10), "not renewed"
    assert world.do(lambda: waiter.lock("k").acquire(blocking=False)) is None
    waiting = world.start(waiter.lock("k", timeout=10).acquire)
    assert seen[Parked].acquire(timeout=10), "not parked"
    world.do(hold.release)
    world.do(waiting.result(10).release)
    assert world.do(lambda: holder.inspect("k")) is None
    world.close()


def refuse(name: str, url: str) -> None:
    """Say why there can be no lock here."""
    import interlock
    from interlock import aio

    connect: Any = interlock.connect if name == "threads" else aio.connect
    try:
        connect(url or None).lock("x").acquire()
    except interlock.InterlockError as refusal:
        sys.stdout.write(f"{type(refusal).__name__}: {refusal}\n")


def load() -> None:
    """Import every module, and name those that cannot be."""
    import interlock

    for found in pkgutil.walk_packages(interlock.__path__, "interlock."):
        try:
            importlib.import_module(found.name)
        except (ImportError, AttributeError) as error:
            sys.stdout.write(f"{found.name}: {error}\n")


def demonstrate() -> None:
    from interlock.cli.main import main

    sys.exit(main(["demo"]))


if __name__ == "__main__":
    hide()
    globals()[sys.argv[1]](*sys.argv[2:])
