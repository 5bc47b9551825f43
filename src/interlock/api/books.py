"""Who holds what in this process: a book for each thread, a book for each task.

Threads are told apart by thread-local storage and tasks by the task object itself, never by
a number: numbers are used again, and a new thread would inherit a dead one's locks.
"""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeAlias, TypeVar

from .lines import Key

H = TypeVar("H")
Book: TypeAlias = dict[Key, H]


class ThreadBooks(threading.local, Generic[H]):
    """The book of the running thread; it goes when the thread goes."""

    def __init__(self) -> None:
        self.mine: Book[H] = {}

    def keys(self) -> set[Key]:
        """What this thread holds."""
        return set(self.mine)


class TaskBooks(Generic[H]):
    """The book of the running task; it goes when the task goes."""

    def __init__(self) -> None:
        from asyncio import current_task  # here, so that threads need not import it

        self.current_task = current_task
        self._books: dict[Any, Book[H]] = {}

    @property
    def mine(self) -> Book[H]:
        task = self.current_task()
        book = self._books.get(task)
        return self._open(task) if book is None else book

    def _open(self, task: Any) -> Book[H]:
        if task is None:
            raise RuntimeError("an asyncio lock needs a running task")
        book = self._books[task] = {}
        task.add_done_callback(self._books.pop)
        return book

    def keys(self) -> set[Key]:
        """What any task holds."""
        return {key for book in self._books.values() for key in book}
