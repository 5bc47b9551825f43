"""The blocks of an `async with`: what is cancelled when their lock is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import Task


class CancelScope:
    """The task that runs a block, and how often it was cancelled when the block began.

    In the manner of `asyncio.timeout`: a cancellation of ours is told from others by counting.
    """

    __slots__ = ("_blocks", "_cancelled", "_task")

    _task: Task[Any]

    def __init__(self) -> None:
        self._cancelled = False
        self._blocks: list[int] = []

    def enter(self, task: Task[Any] | None) -> None:
        """A block begins, in this task."""
        assert task is not None
        self._task = task
        self._blocks.append(task.cancelling())

    def cancel(self, message: str) -> None:
        """Cancel the task that is inside."""
        if self._blocks and not self._cancelled and not self._task.done():
            self._cancelled = True
            self._task.cancel(message)

    def exit(self, error: BaseException | None) -> bool:
        """A block ends; True if the cancellation that ends it is ours."""
        cancelling = self._blocks.pop()
        if not self._cancelled:
            return False
        self._cancelled = False
        from asyncio import CancelledError

        return self._task.uncancel() <= cancelling and isinstance(error, CancelledError)
