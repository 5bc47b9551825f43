"""What a client has given back lately, to be said again to a new primary.  Pure.

Theory of operation.  A primary that is replaced goes on answering for about a second, until its
clients hear of the new one.  What they give back meanwhile, and from what they withdraw, the new
primary never hears: it would keep a lock for an owner that has released it until the lease ends,
and then hand it to each owner in its queue that has long had it and gone.  So a link that
Sentinels guide remembers the calls by which owners left, once they are answered, and says them to
a new primary before anything else.

They are said as withdrawals, which also take an owner out of the queue: the clients of one lock
come to the new primary in any order, so an owner may leave before the lock was handed to it there.
That is safe to repeat, for an owner is one acquisition and has ended; where it neither holds nor
waits nothing becomes of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ....errors import StoreError
from ....steps import Call, Reply
from ..keys import tomb_key

#: How many calls are remembered at most, and for how many seconds before the newest of them: for
#: longer than clients take to leave an old primary.
REMEMBERED, RECENT = 4096, 10.0

#: The tombstone of an owner from which no question is on its way any more, in milliseconds.
TOMB_MS = 1


class RecentReleases:
    """The answered calls by which owners have left, the newest last.

    Threads and signal handlers may note at the same time, so it has no mutex: each of its steps on
    the queue is one of the interpreter's.
    """

    def __init__(self) -> None:
        self._answered: deque[tuple[float, Call]] = deque(maxlen=REMEMBERED)

    def note(self, request: Call, at: float) -> None:
        """A call was answered, at this instant."""
        if request.operation.leaves:
            self._answered.append((at, request))

    def note_together(self, requests: Sequence[Call], replies: Sequence[Reply], at: float) -> None:
        """The same for those calls of several that were answered."""
        for request, reply in zip(requests, replies, strict=True):
            if not isinstance(reply, StoreError):
                self.note(request, at)

    def withdrawals(self) -> list[Call]:
        """What a server has to be told that may know nothing of it."""
        answered = self._answered.copy()
        oldest = answered[-1][0] - RECENT if answered else 0.0
        return [said for at, each in answered if at >= oldest and (said := as_withdrawal(each))]


def as_withdrawal(request: Call) -> Call | None:
    """The same as a withdrawal; None for a call that only lets in others."""
    script, keys = request.operation, request.keys
    said = dict(zip(script.args, request.args, strict=False))
    if said.get("owner") == "" or said.get("tomb_ms") == "":
        return None
    if len(keys) < len(script.keys):  # some scripts tell a release by the missing tomb
        keys = (*keys, tomb_key(keys[0], said["owner"]))
    said["tomb_ms"] = said.get("tomb_ms") or TOMB_MS
    args = tuple(said.get(name, "") for name in script.args)
    return request._replace(keys=keys, args=args)
