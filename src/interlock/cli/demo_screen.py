"""How the demo is shown: as a live picture, or as lines where there is no terminal for it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol, TextIO

from .demo_score import Score

#: Seconds between two lines about the state of things.
EVERY = 2.0


class Screen(Protocol):
    """What shows a score: a picture or lines."""

    def __enter__(self) -> Screen: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, score: Score, at: float) -> None: ...
    def say(self, sentence: str, well: bool) -> None: ...


class PlainScreen:
    """Lines, one for each thing that happened and one now and then in between."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._told, self._next = out, 0, 0.0

    def __enter__(self) -> PlainScreen:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._out.flush()

    def show(self, score: Score, at: float) -> None:
        for note in score.notes[self._told :]:
            self._line(f"{note.at:5.1f} s  {note.text}")
        self._told = len(score.notes)
        if score.notes and at >= self._next:
            self._next = at + EVERY
            self._line(f"{score.elapsed(at):5.1f} s      {summary(score)}")

    def say(self, sentence: str, well: bool) -> None:
        self._line(sentence)

    def _line(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


def summary(score: Score) -> str:
    """The state of things in one line."""
    holder = score.holder
    who = f"worker {holder.number} holds" if holder else "no worker holds"
    return (
        f"{who}, {len(score.waiting)} wait; {score.counted} counted, {score.missing} lost; "
        f"without the lock {score.scribbled} counted, {score.missing_loose} lost"
    )


def open_screen(plain: bool, label: str, seconds: float) -> Screen:
    """The picture where there is a terminal and rich to draw it, else lines."""
    if plain or not sys.stdout.isatty():
        return PlainScreen(sys.stdout)
    try:
        from .demo_picture import LiveScreen
    except ImportError:
        sys.stdout.write("(for the picture: pip install 'interlock[cli]')\n")
        return PlainScreen(sys.stdout)
    return LiveScreen(label, seconds)
