"""The backends that have to prove themselves: a new one is one line in `tests.support.stores`."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.stores import STORES as STORES
from tests.support.stores import nothing_stumbles as nothing_stumbles
from tests.support.stores import url_of as url_of


def _one(kind: str) -> int:
    return 1


def _on_zookeeper(kind: str) -> int:
    """Permits and counts are a queue, or a number, and something else as well."""
    return 2 if kind.endswith(("mutex", "semaphore", "latch")) else 1


#: What it costs to take what is free of a kind.
ROUND_TRIPS: dict[str, Callable[[str], int]] = {
    **dict.fromkeys(STORES, _one),
    "zookeeper": _on_zookeeper,
}
