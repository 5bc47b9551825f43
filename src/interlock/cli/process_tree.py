"""The processes of a command: the child, and whatever that has started.

On Linux this process adopts the orphans among them (it is their subreaper), so that none escapes
by starting a session of its own.  Elsewhere only the child's process group is seen, and a process
that leaves it is not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from .launch import prctl

PR_SET_CHILD_SUBREAPER = 36


class ProcessEntry(NamedTuple):
    """A process, as the kernel lists it."""

    pid: int
    program: str
    state: str
    parent: int
    group: int


class ProcessTree:
    """All processes below this one, but for those that were there before."""

    def __init__(self) -> None:
        self._adopts = sys.platform == "linux" and prctl(PR_SET_CHILD_SUBREAPER, 1)
        #: A shell may have had children before it became this process by exec.
        self._strangers = {each.pid for each in entries() if each.parent == os.getpid()}
        #: The process group of the command.
        self.group = 0

    def reap(self) -> Iterator[tuple[int, int]]:
        """Collect children that have ended or stopped, adopted ones too: pid and status."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
                if pid == 0:
                    return
                yield pid, status

    def running(self) -> list[ProcessEntry]:
        """What has not ended yet.  Where there is no child at all, nothing is looked through."""
        if not self._adopts:
            return self._group_alone()
        with suppress(ChildProcessError):
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return below(os.getpid(), list(entries()), self._strangers)
        return []

    def _group_alone(self) -> list[ProcessEntry]:
        with suppress(ProcessLookupError):
            os.killpg(self.group, 0)
            return [ProcessEntry(self.group, "", "", 0, self.group)]
        return []

    def signal(self, *numbers: int) -> None:
        """Send signals to all of them: at once to the command's group, then to each other."""
        every = self.running()
        for number in numbers:
            if any(each.group == self.group for each in every):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.group, number)
            for each in every:
                if each.group != self.group:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(each.pid, number)


def entries() -> Iterator[ProcessEntry]:
    """Every process that the kernel shows; none where there is no /proc."""
    with suppress(FileNotFoundError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - names alone, and many of them
            if name.isdigit():
                with suppress(OSError):
                    yield _entry(int(name))


def _entry(pid: int) -> ProcessEntry:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        head, _, rest = file.read().rpartition(")")  # a program's name may have brackets
    state, parent, group = rest.split()[:3]
    return ProcessEntry(pid, head.partition("(")[2], state, int(parent), int(group))


def below(
    pid: int, every: Collection[ProcessEntry], strangers: Collection[int]
) -> list[ProcessEntry]:
    """The descendants of a process that have not ended, without strangers and theirs."""
    found: list[ProcessEntry] = []
    parents = {pid}
    while parents:
        children = [e for e in every if e.parent in parents and e.pid not in strangers]
        parents = {each.pid for each in children}
        found += [each for each in children if each.state not in "ZX"]
    return found
