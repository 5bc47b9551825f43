"""What one of several nodes may not have heard of: that owners have left.  Pure.

Theory of operation.  A lock is given back once a majority has said so, and the others are told
without waiting for them.  One of them may hang, and the connection to it may end, or not be open
yet: it would vote for an owner that has gone until the lease ends, and where the owner's question
is still on its way, not even the end of its client would prevent that.  So a link remembers for
each node the calls by which owners leave and which were not answered, and says them again on the
next connection that the node answers on, before anything else; until it has answered, or a
tombstone would have ended.

It is safe to repeat: an owner is one acquisition, and has ended; and where attempts are withdrawn
by their numbers, a later one is not touched.
"""

from __future__ import annotations

from collections import deque

from ....model import TOMBSTONE
from ....steps import Call

#: How many calls are remembered for each node, at most.
REMEMBERED = 1000


class Unheard:
    """The calls by which owners have left, and which a node has not answered; the newest last.

    Threads and signal handlers may note at the same time, so it has no mutex: each of its steps on
    the queue is one of the interpreter's.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._calls: deque[tuple[float, Call]] = deque(maxlen=most)
        #: Whether any call was ever sent to the node: else it knows nothing of us.
        self.reached = False

    def __bool__(self) -> bool:
        return bool(self._calls)

    @property
    def due(self) -> bool:
        """Whether the node may vote for an owner that has left."""
        return self.reached and bool(self._calls)

    def note(self, request: Call | None, at: float) -> None:
        """A call was not answered, and it is not known whether it ever arrives."""
        if request is not None and request.operation.leaves:
            self._calls.append((at, request))

    def take(self, at: float) -> list[tuple[float, Call]]:
        """What the node has to be told now, and when each was noted: what is older than a
        tombstone gets is forgotten."""
        calls: list[tuple[float, Call]] = []
        while self._calls:
            try:
                calls.append(self._calls.popleft())
            except IndexError:
                break  # another thread says it
        return [(noted, call) for noted, call in calls if at - noted < TOMBSTONE]
