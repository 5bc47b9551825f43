"""How an observer hears who leads.  To lead is an acquisition: see `lock.acquire`.

An observer takes no part: it looks, and looks again when it is woken, when the leader's lease
would end, or when the store has told nothing for a while.  So nothing depends on a wake, and the
end of a leader that died, which wakes no observer, is seen as well.
"""

from __future__ import annotations

import math

from ..errors import OutcomeUnknown, StoreUnavailable
from ..model import Holder, LockInfo
from ..spi import ElectionStore
from ..steps import Steps, Wakes, listen, park
from .lock import ANSWER, PATIENCE, Clock

#: Seconds between two looks at the least, however soon a lease ends.
SOONEST = 0.05


def leader_of(info: LockInfo | None) -> Holder | None:
    """Who leads by what is known of a name; None when there is no leader."""
    return None if info is None or not info.holders else info.holders[0]


def next_leader(
    store: ElectionStore, name: str, known: str | None, clock: Clock
) -> Steps[Holder | None]:
    """Wait until another leads than the owner `known`, which is "" where none led, and None where
    that is not known.

    Cost: a look, and another one for each wake, and each time that `store.poll` has passed.
    """
    topics = store.change_topics(name)
    if not topics:
        return (yield from _observe(store, name, known, clock, None))
    with (yield from listen(topics, clock() + ANSWER)) as wakes:
        return (yield from _observe(store, name, known, clock, wakes))


def _observe(
    store: ElectionStore, name: str, known: str | None, clock: Clock, wakes: Wakes | None
) -> Steps[Holder | None]:
    silent = math.inf
    while True:
        asked = clock()
        try:
            info = yield from store.watch(name, asked + ANSWER)
        except (OutcomeUnknown, StoreUnavailable) as failure:
            silent = min(silent, asked)
            if failure.final or clock() - silent >= PATIENCE:
                raise
            info, pause = None, ANSWER
        else:
            leader, silent = leader_of(info), math.inf
            if known is None or (leader.owner if leader else "") != known:
                return leader
            pause = _pause(store, info)
        yield from park(wakes, clock() + pause)


def _pause(store: ElectionStore, info: LockInfo | None) -> float:
    left = None if info is None else info.expires_in
    return store.poll if left is None else max(min(store.poll, left), SOONEST)
