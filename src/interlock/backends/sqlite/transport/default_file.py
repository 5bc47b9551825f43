"""Log who shares the default file, once: two users who both use the default share nothing."""

from __future__ import annotations

import logging
import os

from ..url import is_default
from .rights import user

log = logging.getLogger("interlock.sqlite")

#: The files that this process has logged.
_logged: set[str] = set()


def tell_who_shares(path: str) -> None:
    """Log once in a process which file the default is, and for which user."""
    if path in _logged or not log.isEnabledFor(logging.INFO) or not is_default(path):
        return
    _logged.add(path)
    log.info(
        "locks are kept in %s, the default: shared by all processes of %s on this machine that "
        "see this file, but not by other users or containers; to share with them, set "
        "INTERLOCK_URL (sqlite:machine, redis://host, zk://host)",
        path,
        user(os.geteuid()),
    )
