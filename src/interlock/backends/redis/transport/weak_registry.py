"""Everything that is alive of some kind, for those who must end or abandon all of it."""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class WeakRegistry(Generic[T]):
    """Keeps track of things without keeping them alive.

    Any thread may add at any time, and so may a signal handler in the middle of `every`: a set is
    copied as it stands, while a `WeakSet` is walked through, and fails if it grows meanwhile.
    """

    def __init__(self) -> None:
        self._references: set[ref[T]] = set()

    def add(self, thing: T) -> None:
        self._references.add(ref(thing, self._references.discard))

    def discard(self, thing: T) -> None:
        self._references.discard(ref(thing))

    def every(self) -> list[T]:
        """All that are alive."""
        found = (each() for each in self._references.copy())
        return [thing for thing in found if thing is not None]
