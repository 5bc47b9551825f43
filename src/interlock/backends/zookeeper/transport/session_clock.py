"""From when the servers count our silence.  Pure, but for what it remembers.

A session is kept by the leader, and ends a session's length after the leader last heard of it.
But mostly we talk to a follower, which tells the leader of its clients only when the leader
asks, every half tick; neither a `sync` nor a write that passes through it says anything of us.
A follower that dies takes with it what it has not told.

So what can be relied on is this: when the leader answers a question, it has heard of everything
that the follower had received half a tick before the question was asked.  From the newest such
message on a session's length is ours.  We are not told how long a tick is; a session has at
least two, unless the servers were configured otherwise, so half a tick is a quarter of it at
most.  A greeting is different: whoever opens a session, or comes back to it, is brought before
the leader.
"""

from __future__ import annotations

import math
from collections import deque

#: Half a tick, as a part of the shortest session that servers allow.
LAG = 0.25

#: As a part of a session: a leader that has answered so lately need not be asked again.
RECENT = 1 / 6

#: How many messages of one session's length are remembered.
REMEMBERED = 24


class SessionClock:
    """When we sent what was answered."""

    def __init__(self, session_timeout: float) -> None:
        #: Seconds that the servers keep a silent session.
        self.session_timeout = session_timeout
        self._answered: deque[tuple[float, float]] = deque(maxlen=2 * REMEMBERED)
        self._greeted = self._leader = -math.inf

    def greeted(self, sent: float, session_timeout: float) -> None:
        """A connection was made, by a greeting of `sent`; the session lasts so long."""
        self.session_timeout, self._greeted, self._leader = session_timeout, sent, sent
        self._answered.clear()

    def answered(self, sent: float, heard: float) -> None:
        """A message of `sent` was answered; those close behind another say nothing new."""
        answers = self._answered
        if not answers or sent >= answers[-1][0] + self.session_timeout / REMEMBERED:
            answers.append((sent, heard))

    def leader_answered(self, sent: float) -> None:
        """The leader has answered a question of `sent`."""
        self._leader = max(self._leader, sent)

    def leader_is_recent(self, now: float) -> bool:
        """Whether the leader has answered so lately that nothing is won by asking it again."""
        return now - self._leader < self.session_timeout * RECENT

    def alive_since(self, asked: float) -> float:
        """When the leader last heard of us for sure, as it has answered questions until now; not
        later than `asked`, when somebody asked for what he relies on."""
        question = min(asked, self._leader)
        told = question - self.session_timeout * LAG
        sent = [sent for sent, heard in tuple(self._answered) if heard <= told]
        return min(question, max([self._greeted, *sent]))
