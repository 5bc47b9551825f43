"""Who decides at a fork of the schedule: the search, a script, or a list of numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias

#: Of a hundred free choices, so many go to what happens when nothing goes wrong.
CALM = 85

#: Tells states apart; None where a choice lies inside of a step.
State: TypeAlias = "Callable[[], Hashable] | None"


class Chooser:
    """Decides which way a run takes at each fork, and remembers its choices."""

    def __init__(self) -> None:
        self.path: list[int] = []

    def pick(self, width: int, plain: int, state: State) -> int:
        """Choose one of `width` ways; the first `plain` of them are free of faults."""
        raise NotImplementedError

    def recall(self) -> Any:
        """The step that is to be taken next, if that is known without looking around."""
        return None

    def remember(self, step: Any, forked: bool) -> None:
        """A step was taken; `forked` when it was one of several."""


class Pruned(Exception):
    """This state was met before: whatever follows from it has been explored already."""


class Search(Chooser):
    """Depth first through every way, by running the schedule anew for each.

    A run repeats the steps of the one before it up to the last fork that has another way
    left.  States are remembered, so that ways which lead to the same one are followed once.
    """

    def __init__(self, prune: bool = True) -> None:
        super().__init__()
        self.visited: set[int] = set()
        self._prune = prune
        #: For each choice: how many ways there were, and in which step it was made.
        self._widths: list[int] = []
        self._marks: list[int] = []
        self._steps: list[tuple[Any, bool]] = []
        self._at = self._step = 0

    def pick(self, width: int, plain: int, state: State) -> int:
        if self._at == len(self.path):
            if self._prune and state is not None:
                self._meet(hash(state()))
            self.path.append(0)
            self._widths.append(width)
            self._marks.append(self._step)
        choice = self.path[self._at]
        self._at += 1
        return choice

    def _meet(self, state: int) -> None:
        if state in self.visited:
            raise Pruned
        self.visited.add(state)

    def recall(self) -> Any:
        if self._step == len(self._steps):
            return None
        step, forked = self._steps[self._step]
        self._step += 1
        self._at += forked
        return step

    def remember(self, step: Any, forked: bool) -> None:
        self._steps.append((step, forked))
        self._step += 1

    def next(self) -> bool:
        """Turn to the next way; False when there is none left."""
        while self.path and self.path[-1] + 1 == self._widths[-1]:
            self.path.pop()
            self._widths.pop()
            self._marks.pop()
        if not self.path:
            return False
        self.path[-1] += 1
        del self._steps[self._marks[-1] :]
        self._at = self._step = 0
        return True


class Script(Chooser):
    """Repeats the choices of an earlier run; beyond their end nothing goes wrong."""

    def __init__(self, choices: Sequence[int]) -> None:
        super().__init__()
        self._choices = list(choices)

    def pick(self, width: int, plain: int, state: State) -> int:
        at = len(self.path)
        self.path.append(self._choices[at] if at < len(self._choices) else 0)
        return self.path[-1]


class Numbers(Chooser):
    """Makes choices out of any numbers; small ones mean that nothing goes wrong."""

    def __init__(self, numbers: Sequence[int]) -> None:
        super().__init__()
        self._numbers = list(numbers)

    def pick(self, width: int, plain: int, state: State) -> int:
        at = len(self.path)
        number = self._numbers[at] if at < len(self._numbers) else 0
        self.path.append(_way(number, width, plain))
        return self.path[-1]


def _way(number: int, width: int, plain: int) -> int:
    kind, which = number % 100, number // 100
    if kind < CALM or plain == width:
        return which % plain
    return plain + which % (width - plain)
