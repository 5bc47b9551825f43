"""An event loop that strikes at one of its turns: cancellation where it hurts most.

A loop without a busy task makes few turns, and something happens in each of them; so all
the places where a task can be cancelled are reached by striking at turn 0, 1, 2 and so on,
until the task is done before it is struck.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from .conftest import Store

Victim: TypeAlias = asyncio.Task[Any]

#: After how many more turns a task is cancelled again; 0 is in the same turn.
PATTERNS: dict[str, tuple[int, ...]] = {
    "once": (),
    "twice-in-a-turn": (0,),
    "in-two-turns": (1,),
}


Scene: TypeAlias = "Callable[[Strike], Coroutine[Any, Any, None]]"


class Strike:
    """When a victim is cancelled, and whether it came to that."""

    def __init__(self, turn: int, again: tuple[int, ...]) -> None:
        self._turns = [turn, *(turn + gap for gap in again)]
        self.landed = False

    def at(self, turn: int, victim: Victim) -> None:
        for _ in range(self._turns.count(turn)):
            self.landed |= victim.cancel()


class StrikingLoop(asyncio.SelectorEventLoop):
    """Cancels its victim just before a turn."""

    def __init__(self) -> None:
        super().__init__()
        self._aim: tuple[Victim, Strike] | None = None
        self._turn = itertools.count()

    def aim(self, victim: Victim, strike: Strike) -> None:
        """Count turns from now on, and strike."""
        self._aim, self._turn = (victim, strike), itertools.count()

    def _run_once(self) -> None:
        if self._aim is not None:
            victim, strike = self._aim
            strike.at(next(self._turn), victim)
        super()._run_once()  # type: ignore[misc]


def aim(strike: Strike, work: Coroutine[Any, Any, Any]) -> Victim:
    """Start a task that will be struck."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StrikingLoop)
    victim = loop.create_task(work)
    loop.aim(victim, strike)
    return victim


def sweep(store: Store, scene: Scene, again: tuple[int, ...]) -> int:
    """Play a scene again and again, struck one turn later each time; how often it was struck."""
    for turn in itertools.count():
        strike = Strike(turn, again)
        with asyncio.Runner(loop_factory=StrikingLoop) as runner:
            runner.run(store.tidily(scene(strike)))
        if not strike.landed:
            return turn
        assert turn < 500, "the victim never comes to its end"
    raise AssertionError


async def outcome(victim: Victim) -> Any:
    """What became of a victim: its result, or None when it was cancelled; never an error."""
    await asyncio.wait((victim,))
    return None if victim.cancelled() else victim.result()
