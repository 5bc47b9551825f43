"""The demo as a live picture in the terminal, drawn with rich."""

from __future__ import annotations

from types import TracebackType

from rich.box import ROUNDED
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .demo_score import Score, WorkerState

#: A mark, a word and a colour for each state of a worker.
STATES = {
    "starting": ("·", "starts", "bright_black"),
    "ready": ("·", "ready", "bright_black"),
    "idle": ("·", "works", "bright_black"),
    "waits": ("○", "waits", "blue"),
    "holds": ("●", "HOLDS", "bold green"),
    "lingers": ("●", "HOLDS", "bold green"),
    "killed": ("✖", "killed", "bold red"),
    "paused": ("‖", "paused", "bold yellow"),
    "finished": ("✓", "done", "bright_black"),
}

#: Pictures a second: enough to see it move, few enough to cost nothing.
FRAMES = 10


class LiveScreen:
    """A picture that is drawn again and again in the same place."""

    def __init__(self, label: str, seconds: float) -> None:
        self._console = Console(highlight=False)
        self._label, self._seconds, self._next = label, seconds, 0.0
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> LiveScreen:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, score: Score, at: float) -> None:
        if at >= self._next or not score.any_in(*(STATES.keys() - {"finished", "killed"})):
            self._next = at + 1 / FRAMES
            rows = max(3, self._console.height - 1 - 1 - (len(score.workers) + 2) - 4 - 2)
            self._live.update(self._picture(score, at, rows), refresh=True)

    def _picture(self, score: Score, at: float, rows: int) -> Group:
        return Group(
            self._header(score, at), workers(score, at), counters(score), events(score, rows)
        )

    def _header(self, score: Score, at: float) -> RenderableType:
        header = Table.grid(expand=True)
        header.add_column(no_wrap=True)
        header.add_column(justify="center", no_wrap=True, overflow="ellipsis", ratio=1)
        header.add_column(justify="right", no_wrap=True)
        header.add_row(
            Text(" Interlock", "bold"),
            Text(self._label, "bright_black"),
            Text(f"{score.elapsed(at):4.1f} of {self._seconds:g} s "),
        )
        return header

    def say(self, sentence: str, well: bool) -> None:
        self._console.print(Text(sentence, "bold green" if well else "bold red"))


def workers(score: Score, at: float) -> RenderableType:
    """Each worker: its state, its place or its lease, its token, how much it has counted."""
    table = Table(box=None, expand=True, padding=(0, 1), show_header=False)
    for width in (1, 8, 19, 16):
        table.add_column(width=width, no_wrap=True)
    table.add_column(ratio=1, no_wrap=True)
    order = {worker.number: place for place, worker in enumerate(score.waiting, 1)}
    for worker in score.workers.values():
        table.add_row(
            str(worker.number),
            _state(worker),
            _detail(score, worker, order.get(worker.number), at),
            _token(score, worker),
            _tally(score, worker),
            style="" if worker.holding else "dim" if worker.state == "killed" else "",
        )
    return _panel(table, f"{len(score.workers)} processes, one lock")


def _state(worker: WorkerState) -> Text:
    mark, word, colour = STATES[worker.state]
    return Text(f"{mark} {word}", colour)


def _detail(score: Score, worker: WorkerState, place: int | None, at: float) -> Text:
    if place is not None:
        return Text("next" if place == 1 else f"{place - 1} before it", "blue")
    if worker.state in ("killed", "paused"):
        return _lease(worker.granted + score.lease - at, score.lease)
    return Text("in the block" if worker.holding else "", "green")


def _lease(left: float, lease: float) -> Text:
    """What is left of a lease that is not renewed any more."""
    if left <= 0:
        return Text("its lease is over", "bright_black")
    full = round(10 * left / lease)
    bar = Text("lease ", "yellow")
    bar.append("━" * full, "bold yellow")
    bar.append("╌" * (10 - full), "bright_black")
    return bar


def _token(score: Score, worker: WorkerState) -> Text:
    if worker.token is None:
        return Text("")
    return Text(str(worker.token), "bold" if worker.token == score.newest else "bright_black")


def _tally(score: Score, worker: WorkerState) -> Text:
    most = max(each.counted for each in score.workers.values())
    tally = Text("█" * round(12 * worker.counted / max(most, 1)), "cyan")
    return tally.append(f" {worker.counted}", "bright_black")


def counters(score: Score) -> RenderableType:
    """The same work twice: under the lock, and without it."""
    row = Table.grid(expand=True)
    row.add_column(ratio=1)
    row.add_column(ratio=1)
    row.add_row(
        _panel(_counter(score.counted, score.counter, score.missing), "counted under the lock"),
        _panel(_counter(score.scribbled, score.loose, score.missing_loose), "counted without it"),
    )
    return row


def _counter(done: int, value: int, lost: int) -> RenderableType:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(width=13, no_wrap=True)
    table.add_column(width=5, justify="right")
    table.add_column(ratio=1, no_wrap=True)
    table.add_row("increments", str(done), "")
    verdict = Text(f"✖ {lost} lost", "bold red") if lost else Text("✓ right", "bold green")
    table.add_row("in the file", Text(str(value), "bold"), verdict)
    return table


def events(score: Score, rows: int) -> RenderableType:
    """What happened, the newest last."""
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(width=6, justify="right", no_wrap=True)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    shown = score.notes[-rows:]
    for note in shown:
        table.add_row(Text(f"{note.at:4.1f} s", "bright_black"), Text(note.text, note.colour))
    for _ in range(min(rows, 8) - len(shown)):
        table.add_row("", "")
    return _panel(table, "what happened")


def _panel(inside: RenderableType, title: str) -> Panel:
    return Panel(
        inside,
        title=f"[b]{title}[/b]",
        title_align="left",
        box=ROUNDED,
        border_style="bright_black",
    )
