"""How the demo is shown: as a live picture, or as lines for a terminal that cannot."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol, TextIO

from .demo_play import Play

#: Seconds between two lines about the state of things.
EVERY = 2.0


class Screen(Protocol):
    """Something that shows a play."""

    def __enter__(self) -> Screen: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, play: Play, at: float) -> None: ...
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

    def show(self, play: Play, at: float) -> None:
        for note in play.notes[self._told :]:
            self._line(f"{note.at:5.1f} s  {note.text}")
        self._told = len(play.notes)
        if play.notes and at >= self._next:
            self._next = at + EVERY
            self._line(f"{play.elapsed(at):5.1f} s      {summary(play)}")

    def say(self, sentence: str, well: bool) -> None:
        self._line(sentence)

    def _line(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


def summary(play: Play) -> str:
    """The state of things in one line."""
    holder = play.holder
    who = f"worker {holder.number} holds" if holder else "nobody holds"
    return (
        f"{who}, {len(play.waiting)} wait; {play.counted} counted, {play.missing} lost; "
        f"without the lock {play.scribbled} counted, {play.missing_loose} lost"
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
