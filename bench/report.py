"""What a question answers, and how it is shown: with rich if it is there, else plainly."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: Everything that was measured, by name; goes to the JSON file and to the bars.
Figures = dict[str, Any]


@dataclass
class Table:
    """Rows for people."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(tuple(str(cell) for cell in cells))


@dataclass
class Answer:
    """What a question found out."""

    tables: list[Table] = field(default_factory=list)
    figures: Figures = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def show(tables: Sequence[Table], notes: Sequence[str] = ()) -> None:
    """Print tables on standard output."""
    for table in tables:
        _show(table)
    for note in notes:
        say(f"  {note}")


def _show(table: Table) -> None:
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        say(plain(table))
        return
    console = Console(width=None if sys.stdout.isatty() else 118, highlight=False)
    drawn = RichTable(title=table.title, title_justify="left", title_style="bold")
    for i, column in enumerate(table.columns):
        drawn.add_column(column, justify="left" if i == 0 else "right")
    for row in table.rows:
        drawn.add_row(*row)
    console.print(drawn)


def plain(table: Table) -> str:
    """A table of plain characters."""
    lines = [table.columns, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]
    drawn = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([table.title, *drawn, ""])


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def progress(text: str) -> None:
    """Tell on standard error what is being measured."""
    sys.stderr.write(f"… {text}\n")
    sys.stderr.flush()


def count(value: float) -> str:
    """A rate or a number of things, with at most three digits that matter."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def times(value: float) -> str:
    """A ratio."""
    return f"{value:.2f}"
