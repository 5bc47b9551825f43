"""From a URL to the name of a store in memory.  Pure."""

from __future__ import annotations


def name_of(url: str) -> str:
    """Read `memory://name`; a bare `memory://` is the store without a name."""
    return url.partition("://")[2]
