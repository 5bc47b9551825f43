"""What the store knows of a name: as JSON, as a row, and as lines for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..words import duration

if TYPE_CHECKING:
    from ..model import Holder, LockInfo

COLUMNS = ("NAME", "KIND", "TOKEN", "LEASE", "WAITERS", "HOLDER")

#: In a terminal, column by column.
STYLES = ("bold cyan", "", "bright_black", "", "blue", "green")

#: The fields of a name in JSON, for the pages.
FIELDS = (
    ("name", "string", "what the user calls it"),
    ("kind", "string", "lock, mutex, fair_lock, fenced_lock, rwlock, semaphore and so on"),
    ("token", "integer or null", "the newest fencing token among the holders"),
    ("expires_in", "number or null", "seconds until the nearest lease ends, unless renewed"),
    ("waiters", "integer", "how many wait"),
    ("permits", "integer or null", "of a semaphore: how many there are"),
    ("available", "integer or null", "of a semaphore: how many are free"),
    ("count", "integer or null", "of a latch: how many are still to be counted down"),
    ("parties", "integer or null", "of a barrier: how many meet"),
    ("holders", "array", "who holds it, as follows"),
    ("holders[].owner", "string", "the acquisition: unique, never used again"),
    ("holders[].host", "string", "the machine; empty where it is not known"),
    ("holders[].pid", "integer", "the process; 0 where it is not known"),
    ("holders[].program", "string", "the program; empty where it is not known"),
    ("holders[].since", "number or null", "when it was taken, in seconds of Unix time"),
    ("holders[].mode", "string", "`read` or `write` of a read/write lock, else empty"),
    ("holders[].token", "integer or null", "its fencing token"),
    ("holders[].expires_in", "number or null", "seconds until its lease ends, unless renewed"),
    ("holders[].weight", "integer", "how many permits it has"),
    ("holders[].participant", "string", "what a candidate of an election calls itself"),
)


def fields(info: LockInfo) -> dict[str, Any]:
    """What is printed of a name as JSON: the fields of `FIELDS`."""
    return {**asdict(info), "token": info.token, "holders": [asdict(h) for h in info.holders]}


def print_json(value: Any) -> None:
    """One JSON value, on one line."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False))


def left(seconds: float | None) -> str:
    """What is left of a lease, for a table."""
    return "-" if seconds is None else duration(seconds)


def state(info: LockInfo) -> str:
    """Who holds it, or how it stands where no owner does."""
    words = [_holder(each) for each in info.holders]
    if info.permits is not None and info.available is not None:
        words.insert(0, f"{info.permits - info.available} of {info.permits} taken")
    if info.count is not None:
        words.insert(0, f"{info.count} to be counted down")
    return ", ".join(words)


def _holder(holder: Holder) -> str:
    return f"{holder} {holder.mode}s" if holder.mode else str(holder)


def row(info: LockInfo) -> tuple[str, ...]:
    """A name as a row of the table."""
    token = "-" if info.token is None else str(info.token)
    return info.name, info.kind, token, left(info.expires_in), str(info.waiters), state(info)


def print_table(infos: Sequence[LockInfo]) -> None:
    """A table: with colours in a terminal, else plain lines of columns."""
    rows = [row(info) for info in infos]
    if sys.stdout.isatty():
        _print_coloured(rows)
    else:
        click.echo("\n".join(plain_lines([COLUMNS, *rows])))


def plain_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows in columns as wide as they must be, with nothing cut off."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)).rstrip()
        for each in rows
    ]


def _print_coloured(rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title, style in zip(COLUMNS, STYLES, strict=True):
        table.add_column(title, style=style, overflow="fold")
    for each in rows:
        table.add_row(*map(Text, each))
    Console(highlight=False).print(table)


def lines(info: LockInfo) -> list[str]:
    """A name with everything that is known of it."""
    head = f"{info.name}  {info.kind}, {info.waiters} waiting"
    if info.permits is not None:
        head += f", {info.available} of {info.permits} permits free"
    if info.count is not None:
        head += f", {info.count} to be counted down"
    return [head, *(_details(each) for each in info.holders)]


def _details(holder: Holder) -> str:
    words = [f"  held by {_holder(holder)}", f"owner {holder.owner}"]
    if holder.token is not None:
        words.append(f"token {holder.token}")
    if holder.expires_in is not None:
        words.append(f"{duration(holder.expires_in)} left")
    if holder.weight > 1:
        words.append(f"{holder.weight} permits")
    return ", ".join(words)
