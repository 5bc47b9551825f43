"""The clients that the simulations are made of."""

from __future__ import annotations

from interlock.testing.sim import Plan

#: Works for a while, so that others come while it holds.
STEADY = Plan()
#: Gives the lock back at once, so that every order of requests occurs.
BRISK = Plan(work=0.0)
#: Gives up before the holder is done.
HASTY = Plan(wait=0.5)
#: Listens before its first question.
CROWDED = Plan(work=0.0, crowded=True)
#: Holds for longer than its lease, which is kept; others have the patience for it.
KEPT = Plan(work=3.5, wait=5.0, kept=True)
PATIENT = Plan(wait=5.0)
