"""How a run is claimed, and how its end is written down: steps over a register and a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from ..errors import AcquireTimeout, OutcomeUnknown, StoreUnavailable
from ..recipes.lock import ANSWER, Clock
from ..spi import RegisterStore
from ..steps import Steps
from .history import RUNNING, History, Rules, Run, decide, finished, packed, unpacked

T = TypeVar("T")

#: How often other clients may be quicker until the caller is told.
RACES = 100


class Claimant(Protocol):
    """What claims runs of one name: a client, a lock and a register."""

    name: str
    #: The process, as people know it; and what its owners begin with.
    by: str
    identity: str
    rules: Rules
    #: How a schedule is told; nothing for what is done once.
    schedule: str
    #: Seconds for which the history is kept.
    keep: float
    clock: Clock
    wall: Clock

    @property
    def register(self) -> tuple[RegisterStore, str]:
        """The store, and the name of the register in it."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether nothing is to begin any more."""
        ...

    def notice(self, history: History) -> None:
        """A history was read: say what is strange about it."""
        ...

    def acquire(self, timeout: float) -> Steps[Any]:
        """Take the lock; raises AcquireTimeout."""
        ...

    def release(self, hold: Any) -> Steps[None]:
        """Give it back, whether or not it is lost."""
        ...


class Begun(NamedTuple):
    """A run that its claimant has to do now, and the hold that it is done under."""

    run: Run
    hold: Any


class Settled(NamedTuple):
    """A run that is another's, or none; `mine` says whether this claimant has settled it."""

    run: Run
    mine: bool


# --- the register --------------------------------------------------------------------------------


def history_of(claimant: Claimant) -> Steps[History]:
    """What is known of a name.  One round trip."""
    store, name = claimant.register
    register = yield from store.fetch(name, claimant.clock() + ANSWER)
    history = unpacked(claimant.name, None if register is None else register.text)
    claimant.notice(history)
    return history


def change(
    claimant: Claimant, decided: Callable[[History], tuple[T, History | None]], keep: float
) -> Steps[T]:
    """Read, decide and write, again if another client was quicker, or an answer was lost: what was
    written then is seen.  Two round trips, if no client is."""
    store, name = claimant.register
    for _ in range(RACES):
        register = yield from store.fetch(name, claimant.clock() + ANSWER)
        text, version = (None, 0) if register is None else register
        outcome, history = decided(unpacked(claimant.name, text))
        if history is None:
            return outcome
        history = history._replace(schedule=claimant.schedule, by=claimant.by)
        until = claimant.clock() + ANSWER
        try:
            if (yield from store.swap(name, packed(history), version, keep, until)):
                return outcome
        except OutcomeUnknown:
            continue
    raise StoreUnavailable(f"the record of {claimant.name!r} is changed too fast: ask again")


# --- claiming ------------------------------------------------------------------------------------


def take(
    claimant: Claimant, tick: int, timeout: float, newest: Callable[[], int]
) -> Steps[Begun | Settled | None]:
    """Wait for the lock, and claim a tick under it; None where nothing is to begin any more.
    Three round trips, and one more to give the lock back where the tick is settled.  Raises
    AcquireTimeout when the lock stayed busy."""
    hold = yield from claimant.acquire(timeout)
    if claimant.stopping:
        yield from claimant.release(hold)
        return None
    try:
        claim = Run(
            claimant.name,
            RUNNING,
            tick / 1000,
            claimant.by,
            hold.owner,
            hold.token,
            claimant.wall(),
        )

        def decided(history: History) -> tuple[Any, History | None]:
            decision = decide(history, claim, claimant.rules, newest())
            return decision, decision.history

        decision = yield from change(claimant, decided, claimant.keep)
        if decision.claimed:
            hold.ensure()
            return Begun(decision.run, hold)
    except GeneratorExit:
        raise  # its driver is gone: nothing can be asked any more
    except BaseException:
        yield from claimant.release(hold)
        raise
    yield from claimant.release(hold)
    return Settled(decision.run, decision.history is not None)


def conclude(claimant: Claimant, run: Run, keep: float) -> Steps[None]:
    """Write down how a run has ended, unless another owner has it by now.  Two round trips."""

    def decided(history: History) -> tuple[None, History | None]:
        return None, finished(history, run)

    yield from change(claimant, decided, keep)


def settled(claimant: Claimant, history: History, tick: int) -> Run | None:
    """The run of a tick, if this claimant can do nothing more about it."""
    run = history.run_of(tick)
    if run is None or run.state in claimant.rules.again:
        return None
    mine = claimant.rules.in_order and run.owner.startswith(f"{claimant.identity}:")
    return None if mine and run.state == RUNNING else run


def take_within(
    claimant: Claimant, tick: int, limit: float, newest: Callable[[], int]
) -> Steps[Begun | Settled | None]:
    """Claim a tick, unless it is settled; None when the lock is busy until `limit`, or nothing is
    to begin any more.

    The register is read first: an instance that comes late asks once, and not for the lock.
    While the lock is busy it is read again, because its holder may have settled this very tick.
    """
    while not claimant.stopping:
        history = yield from history_of(claimant)
        run = settled(claimant, history, tick)
        if run is not None:
            return Settled(run, False)
        running = history.run_of(tick) is not None
        pause = LONG_PAUSE if running else min(PAUSE, max(0.0, limit - claimant.clock()))
        try:
            return (yield from take(claimant, tick, pause, newest))
        except AcquireTimeout:
            # A tick that may be taken over is waited for as long as its run goes on.
            if not running and claimant.clock() >= limit:
                break
    return None


#: Seconds to wait for a busy lock before the register is read again: where the tick is not settled
#: yet, and where its run goes on.
PAUSE, LONG_PAUSE = 1.0, 3.0
