"""What can go wrong, each at every point where it can."""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    """One thing that goes wrong once."""

    #: The question never arrives; the client learns only that no answer came.
    REQUEST_LOST = "its request is lost"
    #: The store does as it was asked; the client learns only that no answer came.
    REPLY_LOST = "its reply is lost"
    #: No answer now; the question arrives later, perhaps after its withdrawal.
    ARRIVES_LATE = "its request is delayed"
    #: The store cannot be reached, and the client knows that nothing was asked.
    REFUSED = "the store is out of reach"
    #: A task is cancelled: what was sent is settled, then the cancellation is thrown.
    CANCELLED = "cancelled"
    #: Ctrl-C in a thread: thrown at once, while the question is still on its way.
    INTERRUPTED = "interrupted while its request is on the way"
    #: The process ends; its connections are closed at once.
    KILLED = "killed"
    #: The process ends; its last question still arrives, some time later.
    KILLED_SENDING = "killed while its request is on the way"
    #: The machine ends; the store goes on believing that somebody listens.
    VANISHED = "killed, unnoticed by the store"
    #: The process stands still for longer than a provisional lease.
    PAUSED = "paused beyond a provisional lease"
    #: The process stands still for longer than its lease.
    PAUSED_LONG = "paused beyond its lease"
    #: The process stands still as soon as its question is out, and reads the answer after.
    PAUSED_SENT = "paused beyond its lease, with its request sent"
    #: The answer takes longer than a provisional lease; the link may not wait for it.
    SLOW = "its reply is slow"
    #: The store believes that the wake was heard; it never arrives.
    WAKE_LOST = "its wake is lost"
    #: The store believes that the wake was heard; it arrives later.
    WAKE_LATE = "its wake is delayed"
    #: The store finds nobody listening, although the waiter waits (it is reconnecting).
    DEAF = "nobody hears its wake, and the store knows"


F = Fault

EVERY_FAULT = frozenset(Fault)
LOST_MESSAGES = frozenset({F.REQUEST_LOST, F.REPLY_LOST, F.ARRIVES_LATE})
INTERRUPTIONS = frozenset({F.CANCELLED, F.INTERRUPTED})
DEATHS = frozenset({F.KILLED, F.KILLED_SENDING, F.VANISHED})
PAUSES = frozenset({F.PAUSED, F.PAUSED_LONG})
WAKES = frozenset({F.WAKE_LOST, F.WAKE_LATE, F.DEAF})

#: What can strike a client that has a question to send.
AT_CALL = LOST_MESSAGES | INTERRUPTIONS | DEATHS | PAUSES | {F.PAUSED_SENT, F.SLOW, F.REFUSED}
#: What can strike a client that is about to listen.
AT_LISTEN = frozenset({F.REFUSED, F.CANCELLED, F.KILLED, *PAUSES})
#: What can strike a client that waits, or works on what the lock protects.
AT_PARK = frozenset({F.CANCELLED, F.KILLED, F.VANISHED, *PAUSES})
#: What strikes the client as a whole, so that one of its two tasks is enough.
OF_MAIN = INTERRUPTIONS | DEATHS | PAUSES
