"""What can be observed, as values handed to the client's observer.

An observer is a plain function.  It is called in the thread or task where the thing
happened, must be quick, and can change nothing; what it raises is logged and dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to one acquisition of one lock."""

    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class Granted(Event):
    """The store said yes; the body may run."""

    token: int
    waited: float


@dataclass(frozen=True, slots=True)
class Parked(Event):
    """The lock is busy; this acquisition now waits."""

    holder: str | None
    waited: float


@dataclass(frozen=True, slots=True)
class StillWaiting(Event):
    """This acquisition has been waiting for long; `holder` is for people to read."""

    holder: str | None
    waited: float


@dataclass(frozen=True, slots=True)
class Woken(Event):
    """A wake arrived, so the question is asked again."""


@dataclass(frozen=True, slots=True)
class Troubled(Event):
    """The store did not answer; the recipe goes on trying."""

    error: str


@dataclass(frozen=True, slots=True)
class Renewed(Event):
    """The lease is whole again."""

    token: int
    until: float


@dataclass(frozen=True, slots=True)
class Doubted(Event):
    """Nobody knows whether the lock is still held: the store does not answer.

    `Renewed` ends the doubt, or `Lost` does, at `until` at the latest.
    """

    token: int
    until: float


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """Somebody else asks the holder to give the lock back."""

    token: int


@dataclass(frozen=True, slots=True)
class Lost(Event):
    """The lease ended without release."""

    token: int
    cause: str


@dataclass(frozen=True, slots=True)
class Released(Event):
    """The holder gave it back."""

    token: int
    held: float


@dataclass(frozen=True, slots=True)
class Withdrawn(Event):
    """Every trace of this acquisition was removed, or will be."""

    confirmed: bool


@dataclass(frozen=True, slots=True)
class Abandoned(Event):
    """An algorithm was dropped half way; only its lease can end what it left."""


Observer: TypeAlias = Callable[[Event], None]
