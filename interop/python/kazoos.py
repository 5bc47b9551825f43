"""Kazoo's own locks, with nodes named so that Curator and ours see them.

Nothing else of kazoo's recipes is changed, so they are an independent reading of the layout.
"""

from __future__ import annotations

from typing import ClassVar

from kazoo.recipe.lock import Lock


class CuratorsLock(Lock):  # type: ignore[misc]
    """Named as an InterProcessMutex; the UUID before it is the object's, for its whole life."""

    _NODE_NAME: ClassVar[str] = "-lock-"
    _EXCLUDE_NAMES: ClassVar[list[str]] = ["-lock-"]

    def token(self) -> int:
        """The number of its node, which kazoo keeps no note of."""
        return int(self.client.exists(f"{self.path}/{self.node}").czxid)


class CuratorsReadLock(CuratorsLock):
    """Named as the read lock of an InterProcessReadWriteLock."""

    _NODE_NAME = "-__READ__"
    _EXCLUDE_NAMES = ["-__WRIT__"]  # noqa: RUF012 - declared above


class CuratorsWriteLock(CuratorsLock):
    """Named as the write lock of an InterProcessReadWriteLock."""

    _NODE_NAME = "-__WRIT__"
    _EXCLUDE_NAMES = ["-__READ__", "-__WRIT__"]  # noqa: RUF012 - declared above
