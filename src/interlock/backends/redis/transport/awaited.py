"""The replies that a connection owes, in their order."""

from __future__ import annotations

from ....steps import Call, Reply


class AwaitedReply:
    """The place of one call in the order of replies."""

    __slots__ = ("came_at", "reply", "request", "since", "unheard_at")

    def __init__(self, request: Call | None, since: float, unheard_at: float = 0.0) -> None:
        #: None for a part of the handshake.
        self.request, self.since = request, since
        #: When it was noted as unheard, if it is said again: no caller waits for it.
        self.unheard_at = unheard_at
        self.reply: Reply = None
        self.came_at = since

    @property
    def leaves(self) -> bool:
        """Whether an owner leaves by it: see `unheard`."""
        return self.request is not None and bool(self.request.operation.leaves)
