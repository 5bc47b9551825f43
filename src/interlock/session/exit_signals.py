"""Signals that end the process: what clients hold is given back before.

Without this a process that ends by SIGTERM leaves its locks for the rest of their leases, because
Python runs nothing at its end then.

Theory of operation.  A handler runs in the main thread, wherever that is just now.  Where other
threads wait for the main thread, such as in the middle of a transaction of SQLite, the handler
has the signal sent again a moment later, so that the call comes to its end.  Otherwise it marks
what is held as lost, lets a thread for each client withdraw it, and waits for them, for a second
at most: meanwhile the main thread does not go on with its work.  Then it does what would have
been done without it.  If that ends the process, the clients are closed first, so that no thread
takes a lock in the last moment, and what is just being taken or given back is withdrawn as well.
If it is a function of the program's, the program may go on, and so do the clients.

No `threading.Thread` is started and no `Event` used: the main thread may be in the middle of
either, and would wait for itself.
"""

from __future__ import annotations

import _thread
import logging
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

from ..drive import now, run
from ..errors import InterlockError, UsageError
from ..parking import Signal
from ..spi import Link
from ..words import shown
from .keeper import FAREWELL, Ownership
from .lifetimes import members
from .session import BaseSession

log = logging.getLogger("interlock.exit")

#: Seconds after which a signal is sent again that came in the middle of a call, and for how long
#: it waits for that to end.
AGAIN, PATIENCE = 0.002, FAREWELL

#: Seconds that the log has for its last line.
LOGGING = 0.05


def _numbers(*names: str) -> tuple[signal.Signals, ...]:
    """The signals that this system has of these."""
    return tuple(signal.Signals[name] for name in names if hasattr(signal, name))


#: What a service manager ends a program by, and a terminal that is closed.
USUAL = _numbers("SIGTERM", "SIGHUP")

#: Signals that end a process unless it handles them, and that come from outside.
ALLOWED = _numbers(
    *("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU"),
    *("SIGVTALRM", "SIGPROF", "SIGBREAK"),
)

#: The clients that a signal concerns.
_concerned: dict[int, weakref.WeakSet[BaseSession]] = {}


def install(session: BaseSession, signals: Iterable[int]) -> None:
    """Give back what a client holds when one of these signals comes.

    Where a signal is ignored it stays ignored, and nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        raise UsageError(
            "release_on_exit must be called in the main thread, which alone handles signals, and "
            f"not in thread {threading.current_thread().name!r}: call it where the program begins"
        )
    numbers = _checked(signals)
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is None:
            raise UsageError(
                f"{number.name} has a handler that was not installed by Python, so that it could "
                "not be called any more: leave it out of signals="
            )
    for number, handler in before.items():
        if handler == signal.SIG_IGN:
            continue
        _concerned.setdefault(number, weakref.WeakSet()).add(session)
        if not isinstance(handler, ExitHandler):
            signal.signal(number, ExitHandler(handler))


def _checked(signals: Iterable[int]) -> list[signal.Signals]:
    numbers = list(signals)
    for number in numbers:
        if isinstance(number, bool) or number not in ALLOWED:
            known = ", ".join(each.name for each in ALLOWED)
            raise UsageError(
                "signals must be such as end a process from outside, and can be handled "
                f"({known}), not {shown(number)}"
            )
    if not numbers:
        raise UsageError("signals must name one signal at least")
    return [signal.Signals(number) for number in numbers]


class Late(NamedTuple):
    """A signal that has come while another one was handled."""

    handler: ExitHandler
    number: int
    frame: FrameType | None


class Handling:
    """Whether the main thread is just giving back, in which process, and what came meanwhile."""

    def __init__(self) -> None:
        self.pid, self.late = 0, list[Late]()


_handling = Handling()


class ExitHandler:
    """What is installed for a signal, before what was installed before it."""

    def __init__(self, before: Any) -> None:
        self._before, self._dies = before, before == signal.SIG_DFL
        #: Until when a signal that came in the middle of a call is sent again.
        self._until: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _handling.pid == os.getpid():
            _handling.late.append(Late(self, number, frame))
            return
        releases = releases_for(number, self._dies)
        if any(each.engaged() for each in releases) and self._comes_again(number):
            for each in releases:
                each.hang_up()
            return
        self._until, _handling.pid, _handling.late = None, os.getpid(), []
        try:
            give_back(releases, signal.Signals(number).name)
        finally:  # also if Ctrl-C strikes meanwhile
            _handling.pid = 0
            for late in (Late(self, number, frame), *_handling.late):
                late.handler._go_on(late.number, late.frame)

    def _comes_again(self, number: int) -> bool:
        """Have the signal sent again when the interrupted call has gone on; not for ever."""
        self._until = self._until or now() + PATIENCE
        if now() > self._until:
            return False
        try:
            _thread.start_new_thread(_send_again, (number,))
        except RuntimeError:
            pass  # the interpreter is ending, and gives everything back by itself
        return True

    def _go_on(self, number: int, frame: FrameType | None) -> None:
        """Do what would have been done without this handler."""
        if self._dies:
            die(number)
        else:
            self._before(number, frame)


def _send_again(number: int) -> None:
    time.sleep(AGAIN)
    if hasattr(signal, "pthread_kill"):  # which also wakes the main thread where it sleeps
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def die(number: int) -> None:
    """End as if the signal had not been handled, so that the parent process sees what ended it."""
    signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.raise_signal(number)
    # The first process of a container has no default action: the kernel ignores the signal.
    os._exit(128 + number)


# --- giving back ----------------------------------------------------------------------------


class ExitRelease:
    """What a client holds when a signal comes, and how it is given back."""

    def __init__(self, session: BaseSession, dies: bool) -> None:
        self._session, self._dies = session, dies
        self._link: Link = session.exit_link()
        self._lost: list[Any] = []
        #: Everything was given back, or could not be; and the log has been told.
        self.done, self.told = Signal(), Signal()

    def engaged(self) -> bool:
        """Whether a call must come to its end first: other threads cannot go on before the main
        thread does, or the client is just being closed."""
        session = self._session
        return session.engaged() or self._link.engaged() or session.keeper.closing

    def hang_up(self) -> None:
        """Close the link, unless it is the client's own."""
        if self._link is not self._session.link:
            self._link.close()

    def close(self) -> None:
        """Where the process ends, let no thread take anything more."""
        if self._dies:
            self._session.ending = self._session.schedule.closed = True

    def owners(self, cause: str) -> list[Ownership]:
        """Everything that the store may have of this client; from now on it is lost here."""
        session, at = self._session, now()
        session.schedule.sweep()
        lost: list[Any] = [
            each for each in session.schedule.holds() if session.schedule.drop(each)
        ]
        for lease in lost:
            lease.cause, lease.ended = cause, at
        self._lost += lost
        every = [*lost, *(self._under_way() if self._dies else ())]
        return [(each.store, each.name, each.owner) for each in every]

    def _under_way(self) -> list[Any]:
        """What is just being taken or given back, by threads that do not come to its end."""
        queue, owed = self._session.queue, self._session.schedule.pending()
        taking = [each for each in list(queue.acquiring.values()) if each.maybe_known]
        return [*taking, *queue.releasing.values(), *owed]

    def give_back(self, owners: Sequence[Ownership], signal_name: str, until: float) -> None:
        """Withdraw everything, in a thread of its own."""
        left = [*owners]
        try:
            left = self._withdraw(owners, until)
            if self._dies:  # what was granted meanwhile
                left += self._withdraw(self.owners(cause_of(signal_name)), until)
        except Exception:
            log.exception("%s: locks were not released; they end with their leases", signal_name)
        finally:
            self.done.set()
        self._tell(signal_name, len(owners), left)
        self.told.set()
        self.hang_up()

    def _withdraw(self, owners: Sequence[Ownership], until: float) -> list[Ownership]:
        """Answers what the store did not confirm."""
        return run(self._session.keeper.let_all_go(owners, until), self._link)

    def _tell(self, signal_name: str, count: int, left: list[Ownership]) -> None:
        label = self._session.backend.label
        if left:
            words = (
                "%s: %d of %d locks on %s were not released in time; they end with their leases"
            )
            log.warning(words, signal_name, len(left), count, label)
        elif count:
            log.info("%s: released %d locks on %s", signal_name, count, label)
        if not self._dies:
            self._tell_holders({owner for _, _, owner in left})

    def _tell_holders(self, left: set[str]) -> None:
        """The program goes on: tell it of its losses, and let the keeper try what is left."""
        session = self._session
        for lease in self._lost:
            if lease.owner in left:
                session.soon(session.owe, lease.store, lease.name, lease.owner, lease.lease)
            session.soon(lease.lose, lease.cause)


def releases_for(number: int, dies: bool) -> list[ExitRelease]:
    """What is to be done for each client that a signal concerns."""
    concerned = members(_concerned[number])
    wanted = [each for each in concerned if each.keeper.closing or not each.schedule.closed]
    return [found for each in wanted if (found := _release_for(each, dies)) is not None]


def _release_for(session: BaseSession, dies: bool) -> ExitRelease | None:
    try:
        return ExitRelease(session, dies)
    except InterlockError as failure:  # a backend without a blocking link
        log.warning("what is held on %s cannot be released: %s", session.backend.label, failure)
        return None


def cause_of(signal_name: str) -> str:
    return f"{signal_name} came, on which its client gives everything back (release_on_exit)"


def give_back(releases: Sequence[ExitRelease], signal_name: str) -> None:
    """Give back what several clients hold, side by side, and wait for it."""
    until = now() + FAREWELL
    for each in releases:
        each.close()
    begun = [(each, each.owners(cause_of(signal_name))) for each in releases]
    for each, owners in begun:
        _beside(partial(each.give_back, owners, signal_name, until))
    for each, _ in begun:
        each.done.wait(until - now())
    for each, _ in begun:
        each.told.wait(LOGGING)


def _beside(work: Callable[[], None]) -> None:
    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:
        work()  # the interpreter is ending, and starts no thread any more
