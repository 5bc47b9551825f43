"""What `interlock run` does: take the lock, stay with the command, give the lock back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..drive import now
from ..errors import AcquireTimeout, LockLost, StoreError
from ..model import LockInfo, guard
from . import codes
from .child import Child, CommandFailed, find_program
from .launch import become
from .messages import say
from .options import open_client, said_url
from .process_tree import ProcessTree
from .signal_inbox import ENDING, Interrupted, SignalInbox
from .supervise import StopRules, Supervisor
from .terminal import open_terminal

if TYPE_CHECKING:
    from ..api.client import Client
    from .run import RunWish

#: The owners of all runs around this one, for those inside.
HELD = "INTERLOCK_HELD"


def run_locked(wish: RunWish, url: str | None, verbose: bool) -> int:
    """Run a command under a lock; answers the exit code."""
    try:
        path = find_program(wish.command[0])
        with SignalInbox() as inbox, open_client(url, verbose) as client:
            if _held_around(client, wish):
                inbox.raising = False
                client.close()
                become(path, wish.command)
            return _Run(wish, client, inbox, said_url(url)).perform(path)
    except Interrupted as interruption:
        return codes.SIGNALLED + interruption.number
    except CommandFailed as failure:
        say(str(failure))
        return failure.code
    except AcquireTimeout as busy:
        if not wish.quiet:
            say(f"{busy.name!r} is busy" + (f", held by {busy.holder}" if busy.holder else ""))
        return wish.busy_code


def _held_around(client: Client, wish: RunWish) -> bool:
    """Whether a run around this one holds the name, and will when the command ends.

    What the environment says may be old, so the store is asked.
    """
    owners = set(os.environ.get(HELD, "").split())
    if not owners:
        return False
    info = client.inspect(wish.name)
    mine = [each for each in info.holders if each.owner in owners] if info is not None else []
    if not mine or not _same_kind(wish, info):
        return False
    if wish.mode == "exclusive" and all(each.mode == "read" for each in mine):
        raise click.UsageError(f"a run around this one holds {wish.name!r} shared: use -x there")
    return True


def _same_kind(wish: RunWish, info: LockInfo | None) -> bool:
    kind = "semaphore" if wish.permits is not None else "rwlock" if wish.mode else "lock"
    return info is not None and info.kind == kind


class _Run:
    """One run: the lock, the command, and what comes of both."""

    def __init__(self, wish: RunWish, client: Client, inbox: SignalInbox, url: str | None) -> None:
        self._wish, self._client, self._inbox, self._url = wish, client, inbox, url
        self._tree, self._terminal = ProcessTree(), open_terminal()
        self._lost = False

    def perform(self, path: str) -> int:
        """Whatever interrupts this, closing the client gives back what it has."""
        with Child(path, self._wish.command) as child:
            hold = self._wish.lock(self._client).acquire()
            self._inbox.collect()
            self._stay(child, hold)
            self._release(hold)
            lost = self._lost and self._wish.on_lost == "term"
            return codes.LOST if lost else child.code

    def _release(self, hold: Any) -> None:
        """Give the lock back.  Where the store is silent its lease ends it, and is over soon."""
        if self._lost and hold.suspended:
            return
        try:
            hold.release()
        except (LockLost, StoreError) as trouble:
            if not self._lost:
                say(str(trouble))
            self._lost = self._lost or isinstance(trouble, LockLost)

    def _stay(self, child: Child, hold: Any) -> None:
        granted = now()
        foreground = self._terminal is not None and self._terminal.ours and self._terminal.alone
        if self._terminal is not None:
            self._terminal.given = foreground
        child.start(self._environment(hold), foreground)
        rules = StopRules(self._wish.patience, guard(self._wish.lease), self._wish.on_lost)
        supervisor = Supervisor(child, hold, self._inbox, self._tree, self._terminal, rules)
        supervisor.stay()
        self._lost = supervisor.lost
        self._linger(hold, child, granted + self._wish.at_least_for, supervisor.late)

    def _environment(self, hold: Any) -> dict[str, str]:
        around = os.environ.get(HELD, "")
        variables = {
            "INTERLOCK_NAME": hold.name,
            "INTERLOCK_TOKEN": str(hold.token),
            "INTERLOCK_OWNER": hold.owner,
            HELD: f"{around} {hold.owner}".strip(),
        }
        return variables if self._url is None else {**variables, "INTERLOCK_URL": self._url}

    def _linger(self, hold: Any, child: Child, until: float, came: list[int]) -> None:
        """Keep the lock for as long as was said; a signal leaves it to its lease."""
        while (left := until - now()) > 0 and not self._lost and not hold.lost:
            if not any(number in ENDING for number in came):
                came = self._inbox.wait(left)
            else:
                say(f"lock {hold.name!r} is left to its lease, as --at-least-for is not over")
                os._exit(child.code)
