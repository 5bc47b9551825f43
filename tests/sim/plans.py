"""The clients that the simulations are made of."""

from __future__ import annotations

from tests.support.sim import READ, WRITE, Plan, permits

#: Works for a while, so that others come while it holds.
STEADY = Plan()
#: Gives the lock back at once, so that every order of requests occurs.
BRISK = Plan(work=0.0)
#: Gives up before the holder is done.
HASTY = Plan(wait=0.5)
#: Listens before its first question.
CROWDED = Plan(work=0.0, was_busy=True)
#: Holds for longer than its lease, which is kept; others have the patience for it.
KEPT = Plan(work=3.5, wait=5.0, kept=True)
PATIENT = Plan(wait=5.0)

#: Readers and writers of one read/write lock.
READER, WRITER = STEADY._replace(want=READ), STEADY._replace(want=WRITE)
BRISK_READER, BRISK_WRITER = BRISK._replace(want=READ), BRISK._replace(want=WRITE)
#: Writes, and then reads on.
TURNING = WRITER._replace(downgrades=True)

#: Users of a semaphore with two permits: one of them, or both.
LIGHT, HEAVY = STEADY._replace(want=permits(2)), STEADY._replace(want=permits(2, 2))
BRISK_LIGHT, BRISK_HEAVY = BRISK._replace(want=permits(2)), BRISK._replace(want=permits(2, 2))

HASTY_WRITER, HASTY_HEAVY = HASTY._replace(want=WRITE), HASTY._replace(want=permits(2, 2))
