"""A command under a lock: signals go through to it, and it never outlives the lock.

What holds the lock is any `Leased`, so that whatever has a lease can have a command.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ..drive import now
from ..errors import LockLost
from ..model import guard
from ..words import duration
from .child import Child
from .messages import say
from .process_tree import ProcessTree
from .signal_inbox import OF_TERMINALS, WAKE, SignalInbox
from .terminal import Terminal

#: Seconds between two looks at what is left of the processes, while they are being ended.
GLANCE = 0.05

#: Seconds that a lost lock is waited for processes which even SIGKILL does not end.
PATIENCE = 1.0


class Leased(Protocol):
    """What a command needs of a hold."""

    @property
    def name(self) -> str: ...
    @property
    def expires_in(self) -> float: ...
    @property
    def lost(self) -> bool: ...
    @property
    def suspended(self) -> bool: ...
    def ensure(self) -> None: ...
    def on_lost(self, callback: Callable[[object], object]) -> None: ...


class StopRules(NamedTuple):
    """When a command is stopped: so that it is gone `margin` before its lease ends."""

    grace: float
    margin: float
    on_lost: str = "term"

    def fitted(self, lease: float) -> StopRules:
        """For a lease that may be shorter than was asked for: half of it is for working."""
        margin = min(self.margin, guard(lease))
        return self._replace(margin=margin, grace=max(0.0, min(self.grace, lease / 2 - margin)))


class Supervisor:
    """Stays with a command until that, and whatever it has started, is gone."""

    def __init__(
        self,
        child: Child,
        hold: Leased,
        inbox: SignalInbox,
        tree: ProcessTree,
        terminal: Terminal | None,
        rules: StopRules,
    ) -> None:
        self._child, self._hold, self._inbox, self._terminal = child, hold, inbox, terminal
        self._rules = rules.fitted(hold.expires_in)
        self._until = now() + hold.expires_in
        self._kill_at: float | None = None
        #: Whether the lock was lost, or would have been, before the command ended.
        self.lost = False
        #: Signals that came when the command had ended, and so were not for it.
        self.late: list[int] = []
        self._tree, tree.group = tree, child.pid

    def stay(self) -> None:
        """Until the command and its descendants have ended."""
        self._hold.on_lost(lambda _: self._inbox.wake())
        self._reap()
        while not self._over():
            self._check_lock()
            numbers = self._inbox.wait(self._pause())
            self._reap()
            for number in numbers:
                self._handle(number)
        self._give_up_terminal()

    def _over(self) -> bool:
        if not self._child.ended:
            return False
        left = self._tree.running()
        if left and self._kill_at is None:
            programs = ", ".join(f"{each.program} ({each.pid})" for each in left[:3])
            self._stop(f"the command has ended and left {programs}, to be ended now")
        hopeless = self.lost and now() > (self._kill_at or 0.0) + PATIENCE
        return not left or hopeless

    def _pause(self) -> float | None:
        """Seconds until there is something to do, whatever happens."""
        if self._kill_at is not None:
            return min(GLANCE, max(0.001, self._kill_at - now()))
        if self._rules.on_lost == "ignore":
            return None
        return max(0.0, self._spare()) + 0.001

    # --- the lock ------------------------------------------------------------------------------

    def _spare(self) -> float:
        """Seconds until the command must be stopped, unless the lease is renewed."""
        return self._hold.expires_in - self._rules.grace - self._rules.margin

    def _check_lock(self) -> None:
        if self._kill_at is not None:
            if now() >= self._kill_at:
                self._tree.signal(signal.SIGKILL)
        elif self._rules.on_lost == "ignore":
            if self._hold.lost and not self.lost:
                self.lost = True
                say(f"{self._why()}; the command goes on")
        elif self._spare() <= 0:
            self.lost = True
            self._stop(f"{self._why()}; the command is stopped")
        else:
            self._until = now() + self._hold.expires_in

    def _why(self) -> str:
        try:
            self._hold.ensure()
        except LockLost as loss:
            return f"lock {loss.name!r} (token {loss.token}) was lost: {loss.cause}"
        why = "the store does not answer" if self._hold.suspended else "it is not renewed"
        left = duration(self._hold.expires_in)
        return f"the lease of lock {self._hold.name!r} ends in {left}, and {why}"

    def _stop(self, why: str) -> None:
        """End all processes: by SIGTERM, and by SIGKILL after the grace, in time for the lease."""
        say(why)
        at, last = now(), self._until - self._rules.margin
        self._kill_at = at + self._rules.grace
        if self._rules.on_lost != "ignore":
            self._kill_at = min(self._kill_at, last)
        if self._kill_at > at:
            self._tree.signal(signal.SIGTERM, signal.SIGCONT)

    # --- signals -------------------------------------------------------------------------------

    def _handle(self, number: int) -> None:
        if number == signal.SIGCONT:
            self._resume()
        elif self._child.ended:
            self.late.append(number)
        elif number not in (WAKE, signal.SIGCHLD):
            self._child.signal(number, group=number in OF_TERMINALS)

    def _reap(self) -> None:
        for pid, status in self._tree.reap():
            if pid == self._child.pid:
                if os.WIFSTOPPED(status):
                    self._pause_with(os.WSTOPSIG(status))
                else:
                    self._child.note(status)

    # --- job control ---------------------------------------------------------------------------

    def _pause_with(self, number: int) -> None:
        """The command was stopped: by Ctrl-Z, or because it wants the terminal."""
        terminal = self._terminal
        if terminal is None or self._kill_at is not None:
            return
        wants = number in (signal.SIGTTIN, signal.SIGTTOU)
        if wants and terminal.give(self._child.pid):
            self._child.signal(signal.SIGCONT, group=True)
            return
        terminal.take_back()
        left = duration(self._hold.expires_in)
        say(f"stopped; lock {self._hold.name!r} ends in {left} unless this goes on before")
        _stop_this_process()
        self._resume()

    def _resume(self) -> None:
        """This process goes on, and with it the command, if it still has its lock."""
        self._check_lock()
        if self._kill_at is None:
            if self._terminal is not None and self._terminal.given:
                self._terminal.give(self._child.pid)
            self._child.signal(signal.SIGCONT, group=True)

    def _give_up_terminal(self) -> None:
        if self._terminal is not None:
            self._terminal.take_back()
            if self._kill_at is not None:
                self._terminal.restore()


def _stop_this_process() -> None:
    """As the default of Ctrl-Z does: not where no shell could continue it."""
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)  # stops here, and not a bit later
    signal.signal(signal.SIGTSTP, before)
