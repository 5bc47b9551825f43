"""Unit tests of protected functions, without a lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..api.assertion import pretended
from ..model import checked_text


@contextmanager
def pretend_held(*patterns: str) -> Iterator[None]:
    """Let `assert_held` pass for names that match, as in a shell, inside of the block.

    It counts for every thread and task of this process, so that a fixture can say it as well.
    Without a pattern it counts for every name.
    """
    mine = [checked_text("pattern", each, " such as 'orders:*'") for each in patterns or ("*",)]
    pretended.extend(mine)
    try:
        yield
    finally:
        for each in mine:
            pretended.remove(each)
