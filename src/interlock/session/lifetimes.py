"""Which clients there are in this process, and what becomes of threads when it ends."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..drive import now
from ..parking import pause_thread

if TYPE_CHECKING:
    from .session import BaseSession

T = TypeVar("T")

#: Seconds; a thread rests that long at a time.
HOUR = 3600.0

#: The session of each client.
sessions: weakref.WeakSet[BaseSession] = weakref.WeakSet()


def rest_at_exit(ending: bool) -> None:
    """Where the interpreter ends, and has closed the client, let a daemon thread wait for the end:
    no reader of the log needs to know what it was still doing.  Where a signal ends the process
    (`ending`), let every thread wait."""
    while ending or (threading.current_thread().daemon and not threading.main_thread().is_alive()):
        pause_thread(now() + HOUR)


def weakly(method: Callable[[T], None]) -> Callable[[T], None]:
    """The same, without keeping its object alive: a link must not keep the client that it
    serves."""
    find = weakref.WeakMethod(method)

    def call(argument: T) -> None:
        if (found := find()) is not None:
            found(argument)

    return call


def live_sessions() -> list[BaseSession]:
    """The session of each client that is in use, in this process."""
    return members(sessions)


def members(of: weakref.WeakSet[T]) -> list[T]:
    """What is in a set, also while other threads and signal handlers add to it."""
    while True:
        try:
            return list(of)
        except RuntimeError:
            continue


def _after_fork_in_child() -> None:
    for session in live_sessions():
        session.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
