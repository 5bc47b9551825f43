"""One try at a lock as a block: `with lock.attempt() as hold`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Attempt(Generic[T]):
    """One try at a lock, for a `with` statement."""

    __slots__ = ("_hold", "_lock")

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._hold: Any = None

    def __enter__(self) -> T | None:
        self._hold = self._lock.try_acquire()
        if self._hold is not None:
            self._hold._enter_block()
        hold: T | None = self._hold
        return hold

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hold is not None:
            self._lock._session.run(self._lock._leave_hold(self._hold, error))


class AsyncAttempt(Generic[T]):
    """One try at a lock, for an `async with` statement."""

    __slots__ = ("_hold", "_lock")

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._hold: Any = None

    async def __aenter__(self) -> T | None:
        self._hold = await self._lock.try_acquire()
        if self._hold is not None:
            self._hold._enter_block()
        hold: T | None = self._hold
        return hold

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hold is not None:
            await self._lock._session.run(self._lock._leave_hold(self._hold, error))
