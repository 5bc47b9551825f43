"""What a client tells its observer: `interlock.connect(url, observer=function)`.

An observer is a plain function of one event.  The client calls it in the thread or task where the
event happened, so it must be quick; what it returns is ignored, and what it raises is logged.

    def observe(event: interlock.Event) -> None:
        match event:
            case events.Granted(name=name, waited=waited):
                histogram.record(waited, {"lock": name})
            case events.Lost(name=name, cause=cause):
                log.error("lost %s: %s", name, cause)

Lengths of time are seconds.  Instants are of the holder's clock: see `interlock.drive.now`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to one acquisition of one lock, semaphore or latch."""

    #: The name of the lock.
    name: str
    #: The acquisition: unique, and the same in all of its events.
    owner: str


@dataclass(frozen=True, slots=True)
class Granted(Event):
    """The store granted the lock: the body may run."""

    #: The fencing token of the grant.
    token: int
    #: Seconds since the caller asked.
    waited: float


@dataclass(frozen=True, slots=True)
class Parked(Event):
    """The lock is busy, so the acquisition waits; told before each wait, until it is granted."""

    #: The owner that has the lock, where the store says so.
    holder: str | None
    waited: float


@dataclass(frozen=True, slots=True)
class StillWaiting(Event):
    """The acquisition has waited for ten seconds more."""

    #: The holder's host, process and program, for people to read.
    holder: str | None
    waited: float


@dataclass(frozen=True, slots=True)
class Woken(Event):
    """The store woke the waiter, which asks again."""


@dataclass(frozen=True, slots=True)
class Troubled(Event):
    """The store did not answer; the acquisition goes on asking."""

    error: str
    #: The store, as its URL is spelled, without a password.
    store: str
    #: Seconds until the acquisition gives up.
    patience: float
    #: Whether it is the first time in this acquisition.
    first: bool


@dataclass(frozen=True, slots=True)
class Renewed(Event):
    """The keeper renewed the lease: it is whole again."""

    token: int
    #: The instant until which the lease is trusted.
    until: float


@dataclass(frozen=True, slots=True)
class Suspended(Event):
    """The store does not answer, so it is not known whether the lock is still held.

    `Renewed` or `Lost` follows, at `until` at the latest.
    """

    token: int
    until: float


@dataclass(frozen=True, slots=True)
class ReleaseRequested(Event):
    """Another client asks the holder to give the lock back."""

    token: int


@dataclass(frozen=True, slots=True)
class Lost(Event):
    """The lease ended without a release: another owner may hold the lock by now."""

    token: int
    #: Why it ended, as a sentence for people to read.
    cause: str


@dataclass(frozen=True, slots=True)
class Forgotten(Event):
    """The program lost the hold without a release, so the keeper withdraws it."""


@dataclass(frozen=True, slots=True)
class Released(Event):
    """The holder gave the lock back."""

    token: int
    #: Seconds since the grant.
    held: float


@dataclass(frozen=True, slots=True)
class Withdrawn(Event):
    """The acquisition was given up, and every trace of it removed from the store."""

    #: False where the store did not confirm that: the keeper goes on with it.
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Abandoned(Event):
    """The acquisition was dropped half way, as at the end of the interpreter; what it left in the
    store ends with its lease."""


#: A function that is told every event of a client.
Observer: TypeAlias = Callable[[Event], None]
