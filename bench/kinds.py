"""Every primitive as something that is entered and left, the same in both worlds."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Enough permits that nobody ever waits for one.
PERMITS = 4


class LatchTurn:
    """Set to one on the way in, counted down and waited for on the way out."""

    def __init__(self, latch: Any) -> None:
        self._latch = latch

    def __enter__(self) -> None:
        self._latch.start(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._latch.count_down()
        self._latch.wait()

    async def __aenter__(self) -> None:
        await self._latch.start(1)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._latch.count_down()
        await self._latch.wait()


LOCK, FAIR, FENCED = "lock()", "fair_lock()", "fenced_lock()"
READ, WRITE = "rwlock().read()", "rwlock().write()"
SEMAPHORE, LEASED = "semaphore()", "leased_semaphore()"
LATCH, MULTI = "latch()", "multilock() of 3"

#: From a client of either world and a name.
KINDS: dict[str, Callable[[Any, str], Any]] = {
    LOCK: lambda il, name: il.lock(name),
    FAIR: lambda il, name: il.fair_lock(name),
    FENCED: lambda il, name: il.fenced_lock(name),
    READ: lambda il, name: il.rwlock(name).read(),
    WRITE: lambda il, name: il.rwlock(name).write(),
    SEMAPHORE: lambda il, name: il.semaphore(name, permits=PERMITS),
    LEASED: lambda il, name: il.leased_semaphore(name, permits=PERMITS),
    LATCH: lambda il, name: LatchTurn(il.latch(name)),
    MULTI: lambda il, name: il.multilock(*(f"{name}:{i}" for i in range(3))),
}
