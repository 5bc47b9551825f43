"""What all connections of a link to one node share."""

from __future__ import annotations

from ..url import RedisSettings
from .lookups import Lookup
from .unheard import Unheard


class ForkFlag:
    """Raised in a forked child, for all connections of a link, also those to come."""

    __slots__ = ("raised",)

    def __init__(self) -> None:
        self.raised = False


class KnownNode:
    """How to reach a node, and what it has still to be told."""

    def __init__(self, settings: RedisSettings, fork: ForkFlag, unheard: Unheard) -> None:
        self.settings, self.fork, self.unheard = settings, fork, unheard
        self.lookup = Lookup(settings)
