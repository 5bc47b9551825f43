"""Every error that Interlock raises on purpose.

    InterlockError
    ├── AcquireTimeout (TimeoutError)            .name .holder .waited .timeout
    ├── BarrierTimeout (TimeoutError)            .name .parties .there .waited .timeout .leaving
    ├── LockLost                                 .name .token .since .cause
    ├── NotHeld (RuntimeError)                   .name .owner
    ├── StaleToken                               .resource .token .newest
    ├── StoreError                               .store
    │   ├── StoreUnavailable (ConnectionError)   never executed, or the store is down
    │   ├── OutcomeUnknown                       sent, answer not seen, withdrawal not confirmed
    │   └── StoreMisconfigured                   permissions, version, wrong kind of key
    ├── Unsupported (NotImplementedError)        this backend cannot
    └── UsageError (ValueError)                  the call itself is wrong

Each carries its facts as fields and reads as one sentence: what happened, to which
lock, who has it, what to do next.  All survive pickling; none ever holds a password.
"""

from __future__ import annotations

import typing
from typing import Any

from .words import duration


class InterlockError(Exception):
    """The root of every error that Interlock raises on purpose."""

    #: What users know it as, where a backend tells kinds apart that they do not: see `internal`.
    _known_as: type[InterlockError] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with the message; ours take fields.
        return _rebuild, (self._known_as or type(self), self.args, self.__dict__)

    def __copy__(self) -> InterlockError:
        return _rebuild(type(self), self.args, self.__dict__)


def _rebuild(
    kind: type[InterlockError], args: tuple[Any, ...], fields: dict[str, Any]
) -> InterlockError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


E = typing.TypeVar("E", bound=InterlockError)


def internal(kind: type[E]) -> type[E]:
    """Decorates a kind of error that a backend tells apart from others, and users do not.

    It is named, in tracebacks and logs, as the public error that it is, and arrives as that where
    it was pickled.
    """
    parent: type[InterlockError] = kind.__mro__[1]
    kind._known_as = parent._known_as or parent
    kind.__name__ = kind.__qualname__ = kind._known_as.__name__
    kind.__module__ = "interlock"
    return kind


class AcquireTimeout(InterlockError, TimeoutError):
    """The deadline passed while another owner held the lock."""

    def __init__(
        self, name: str, holder: str | None, waited: float, timeout: float | None = None
    ) -> None:
        self.name, self.holder, self.waited = name, holder, waited
        #: The seconds that the caller was ready to wait; None where that is not known.
        self.timeout = timeout
        held = f"held by {holder}" if holder else "held"
        if timeout == 0:
            super().__init__(
                f"lock {name!r} is {held}, and was not waited for because timeout=0; "
                "give a longer timeout to wait, or try again later"
            )
        else:
            super().__init__(
                f"lock {name!r} is still {held} after {duration(waited)} of waiting; "
                "wait longer (timeout=), or look at what its holder is doing"
            )


class BarrierTimeout(InterlockError, TimeoutError):
    """The deadline passed while other parties were missing, or still inside."""

    def __init__(
        self,
        name: str,
        parties: int,
        there: int,
        waited: float,
        timeout: float | None = None,
        leaving: bool = False,
    ) -> None:
        self.name, self.parties, self.waited = name, parties, waited
        #: How many parties were there, the one that waited among them; or still inside.
        self.there = there
        #: The seconds that the caller was ready to wait, and whether it waited to leave.
        self.timeout, self.leaving = timeout, leaving
        of, after = f"{there} of {parties} parties", f"after {duration(waited)} of waiting"
        if leaving:
            super().__init__(
                f"{of} are still inside of barrier {name!r} {after}; this one has left without "
                "them: wait longer (timeout=), or look at what they are doing"
            )
        else:
            super().__init__(
                f"only {of} were at barrier {name!r} {after}; this one has gone again: wait "
                "longer (timeout=), or see which party is missing"
            )


class LockLost(InterlockError):
    """A lease ended without release: another owner may hold the lock by now."""

    def __init__(self, name: str, token: int, since: float, cause: str) -> None:
        self.name, self.token, self.since, self.cause = name, token, since, cause
        super().__init__(
            f"lock {name!r} (token {token}) was lost after {duration(since)}: {cause}; "
            "whatever was done since then must be fenced by its token or checked again"
        )


class NotHeld(InterlockError, RuntimeError):
    """The caller tried to release, or relies on, what it does not hold."""

    def __init__(
        self, name: str, owner: str | None = None, why: str = "", advice: str = ""
    ) -> None:
        self.name, self.owner = name, owner
        super().__init__(
            f"lock {name!r} is not held {why or 'by this thread or task'}; "
            f"{advice or 'release it where it was acquired, or through its hold'}"
        )


class StaleToken(InterlockError):
    """A resource has seen a newer token: the writer's lease is over."""

    def __init__(self, resource: str, token: int, newest: int) -> None:
        self.resource, self.token, self.newest = resource, token, newest
        super().__init__(
            f"token {token} is stale for {resource!r}: {newest} has been seen there already, so "
            "another holder has had the lock since; nothing was written: give up this work, and "
            "take the lock again to start over"
        )


class StoreError(InterlockError):
    """The store could not be asked, refused, or its answer did not arrive."""

    #: Whether the store may have executed a part of what it was asked.
    partial = False

    def __init__(self, message: str, store: str = "", final: bool = False) -> None:
        self.store = store
        #: Asking again is of no use.
        self.final = final
        super().__init__(message)


class StoreUnavailable(StoreError, ConnectionError):
    """The question was never executed: the store is down, full or out of reach."""


class OutcomeUnknown(StoreError):
    """The question was sent, its answer not seen, its withdrawal not confirmed."""


class StoreMisconfigured(StoreError):
    """The store answers, but not as a lock needs it: settings, rights or a foreign key."""


class Unsupported(InterlockError, NotImplementedError):
    """This backend cannot do that; the sentence names one that can."""


class UsageError(InterlockError, ValueError):
    """The call itself is wrong; nothing was sent."""


def forked(store: str) -> StoreUnavailable:
    """What a forked child gets that returns from a signal handler into its parent's call."""
    return StoreUnavailable(
        "this call belongs to the parent process, which goes on with it: a signal handler has "
        "forked in the middle of it; let the child end in the handler, or make calls of its own",
        store,
        final=True,
    )


def interrupted(who: str, store: str) -> StoreUnavailable:
    """What a signal handler is told that strikes where others wait for its own thread."""
    return StoreUnavailable(
        f"{who} is in the middle of another call of this very thread, which a signal handler or a "
        "finalizer has interrupted; let them set a flag, and act on it elsewhere",
        store,
        final=True,  # the call goes on only when they have returned
    )


def closed(store: str) -> StoreUnavailable:
    """What every call of a closed client raises."""
    return StoreUnavailable("this client is closed; make another one", store, final=True)
