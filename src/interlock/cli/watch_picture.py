"""`interlock watch` in a terminal: a picture that is drawn anew in its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..api.client import Client
from ..drive import now
from ..errors import StoreError
from ..model import Holder, LockInfo
from ..words import duration

#: Pictures a second: enough to see a lease shrink.
FRAMES = 8

#: Characters of a lease's bar.
BAR = 12


class Looks:
    """What the store has last said, asked in the background so that the picture does not wait."""

    def __init__(self, look: Callable[[], list[LockInfo]], every: float) -> None:
        self._look, self._every, self._stop = look, every, threading.Event()
        self.infos: list[LockInfo] = []
        self.at, self.count, self.trouble = now(), 0, ""
        #: The longest that was seen of each lease, which is the whole of its bar.
        self.longest: dict[str, float] = {}
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def __enter__(self) -> Looks:
        self._thread.start()
        return self

    def __exit__(self, *exit: object) -> None:
        self._stop.set()
        self._thread.join(1.0)

    def _go_on(self) -> None:
        while not self._stop.is_set():
            asked = now()
            try:
                self.take(self._look(), asked)
            except StoreError as failure:
                self.trouble = str(failure)
            self.count += 1
            self._stop.wait(self._every)

    def take(self, infos: list[LockInfo], asked: float) -> None:
        """Remember what the store has said."""
        seen = {h.owner: h.expires_in or 0.0 for info in infos for h in info.holders}
        self.longest = {o: max(left, self.longest.get(o, 0.0)) for o, left in seen.items()}
        self.infos, self.at, self.trouble = infos, asked, ""


def show_picture(client: Client, pattern: str, every: float, count: int | None) -> None:
    """Draw until it is left, or has looked so often."""
    console, label = Console(highlight=False), client._session.backend.label
    looks = Looks(lambda: client.locks(pattern), every)
    with Live(console=console, screen=True, auto_refresh=False) as live, looks:
        while count is None or looks.count < count:
            live.update(picture(looks, label, now(), console.height), refresh=True)
            time.sleep(1 / FRAMES)


def picture(looks: Looks, label: str, at: float, height: int) -> RenderableType:
    """All names, as far as there is room, below a line that sums them up."""
    room = max(1, height - 4)
    rows = [row for info in looks.infos for row in _rows(info, looks, at - looks.at)]
    shown = rows if len(rows) <= room else rows[: room - 1]
    table = _table()
    for row in shown:
        table.add_row(*row)
    more = len(rows) - len(shown)
    rest = [Text(f"… and {more} lines more", "bright_black")] if more else []
    return Group(_head(looks, label, at), Text(), table, *rest)


def _head(looks: Looks, label: str, at: float) -> RenderableType:
    head = Table.grid(expand=True)
    head.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    head.add_column(justify="right", no_wrap=True)
    waiting = sum(info.waiters for info in looks.infos)
    if looks.trouble:
        old = duration(at - looks.at)
        head.add_row(Text(f"{looks.trouble}; {old} old", "bold red"), "Ctrl-C leaves")
    else:
        head.add_row(
            Text.assemble(("Interlock ", "bold"), (label, "bright_black")),
            f"{len(looks.infos)} in use, {waiting} waiting; Ctrl-C leaves",
        )
    return head


def _table() -> Table:
    table = Table(box=None, expand=True, header_style="bold", pad_edge=False)
    table.add_column("NAME", no_wrap=True, ratio=2, style="bold cyan")
    table.add_column("KIND", no_wrap=True)
    table.add_column("HOLDER", no_wrap=True, ratio=4)
    table.add_column("LEASE", no_wrap=True, min_width=BAR + 8)
    table.add_column("WAITERS", no_wrap=True)
    return table


def _rows(info: LockInfo, looks: Looks, passed: float) -> list[tuple[Text, ...]]:
    """A row for each holder; the name stands at the first."""
    waiters = Text("●" * min(info.waiters, 8), "blue").append(f" {info.waiters or ''}")
    first = Text(info.name), Text(info.kind, "bright_black")
    if not info.holders:
        return [(*first, Text(_state(info), "bright_black"), Text(), waiters)]
    rows = [(Text(), Text(), *_holder(each, looks, passed), Text()) for each in info.holders]
    return [(*first, *rows[0][2:4], waiters), *rows[1:]]


def _state(info: LockInfo) -> str:
    if info.count is not None:
        return f"{info.count} to be counted down"
    return "free" if info.permits is None else f"{info.available} of {info.permits} free"


def _holder(holder: Holder, looks: Looks, passed: float) -> tuple[Text, Text]:
    who = Text(str(holder), "green").append(f" {holder.mode}s" if holder.mode else "")
    if holder.expires_in is None:
        return who, Text("-", "bright_black")
    left = max(0.0, holder.expires_in - passed)
    return who, lease_bar(left, looks.longest.get(holder.owner, left))


def lease_bar(left: float, whole: float) -> Text:
    """What is left of a lease, as a bar and in words."""
    full = round(BAR * left / whole) if whole > 0 else 0
    colour = "green" if full > BAR / 2 else "yellow" if full > BAR / 4 else "red"
    bar = Text("━" * full, f"bold {colour}").append("╌" * (BAR - full), "bright_black")
    return bar.append(f" {duration(left)}")
