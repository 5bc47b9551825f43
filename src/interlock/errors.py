"""Every error that Interlock raises on purpose.

    InterlockError
    ├── AcquireTimeout (TimeoutError)            .name .holder .waited
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

from typing import Any


class InterlockError(Exception):
    """The root of every error that Interlock raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with the message; ours take fields.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    kind: type[InterlockError], args: tuple[Any, ...], fields: dict[str, Any]
) -> InterlockError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class AcquireTimeout(InterlockError, TimeoutError):
    """The deadline passed while somebody else held the lock."""

    def __init__(self, name: str, holder: str | None, waited: float) -> None:
        self.name, self.holder, self.waited = name, holder, waited
        by = f"held by {holder}" if holder else "held by somebody else"
        super().__init__(
            f"lock {name!r} is still {by} after {waited:.3g} s of waiting; "
            "wait longer (timeout=), or look at what its holder is doing"
        )


class LockLost(InterlockError):
    """A lease ended without release: somebody else may hold the lock by now."""

    def __init__(self, name: str, token: int, since: float, cause: str) -> None:
        self.name, self.token, self.since, self.cause = name, token, since, cause
        super().__init__(
            f"lock {name!r} (token {token}) was lost after {since:.3g} s: {cause}; "
            "whatever was done since then must be fenced by its token or checked again"
        )


class NotHeld(InterlockError, RuntimeError):
    """The caller tried to release what it does not hold."""

    def __init__(self, name: str, owner: str | None = None, why: str = "") -> None:
        self.name, self.owner = name, owner
        super().__init__(
            f"lock {name!r} is not held {why or 'by this thread or task'}; "
            "release it where it was acquired, or through its hold"
        )


class StaleToken(InterlockError):
    """A resource has seen a newer token: the writer's lease is over."""

    def __init__(self, resource: str, token: int, newest: int) -> None:
        self.resource, self.token, self.newest = resource, token, newest
        super().__init__(
            f"token {token} is stale for {resource!r}: {newest} has been seen already; "
            "the lock was lost, so give up this work"
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


def closed(store: str) -> StoreUnavailable:
    """What a client that has been closed says to everybody."""
    return StoreUnavailable("this client is closed: make another one", store, final=True)
