"""The blocks of an `async with`: what is cancelled when their lock is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import Handle, Task


class CancelScope:
    """The task that runs a block, and how often it was cancelled when the block began.

    In the manner of `asyncio.timeout`: a cancellation of ours is told from others by counting.
    """

    __slots__ = ("_blocks", "_cancelled", "_soon", "_task")

    _task: Task[Any]

    def __init__(self) -> None:
        self._cancelled = False
        self._blocks: list[int] = []
        #: The cancellation of the running task, which comes when it awaits.
        self._soon: Handle | None = None

    def enter(self, task: Task[Any] | None) -> None:
        """A block begins, in this task."""
        assert task is not None
        self._task = task
        self._blocks.append(task.cancelling())

    def cancel(self, message: str) -> None:
        """Cancel the task that is inside."""
        if not self._blocks or self._cancelled or self._task.done():
            return
        from asyncio import current_task

        loop, self._cancelled = self._task.get_loop(), True
        if current_task(loop) is self._task:
            # A task that cancels itself cannot undo it before Python 3.13, and this block may end
            # without another await.
            self._soon = loop.call_soon(self._cancel, message)
        else:
            self._task.cancel(message)

    def _cancel(self, message: str) -> None:
        self._soon = None
        self._task.cancel(message)

    def exit(self, error: BaseException | None) -> bool:
        """A block ends; True if the cancellation that ends it is ours."""
        cancelling = self._blocks.pop()
        if not self._cancelled:
            return False
        self._cancelled = False
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
            return False
        from asyncio import CancelledError

        return self._task.uncancel() <= cancelling and isinstance(error, CancelledError)
