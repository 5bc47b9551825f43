"""Help that shows examples, and of the whole program the exit codes and variables, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import click

from .texts import COMPLETION, ENVIRONMENT, EXIT_CODES

#: What to type, and what it does.
Examples: TypeAlias = tuple[tuple[str, str], ...]


class ExampledCommand(click.Command):
    """A command that shows examples at the end of its help."""

    def __init__(self, *args: Any, examples: Examples = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            write_verbatim(formatter, "Examples", example_lines(self.examples))


class CommandGroup(click.Group):
    """The whole program: its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        plain = [(code, words.replace("`", "")) for code, words in EXIT_CODES]
        _write_list(formatter, "Exit codes", plain)
        _write_list(formatter, "Environment", [(n, w.replace("`", "")) for n, w in ENVIRONMENT])
        lines = [f"{shell}: {line}  (in {place})" for shell, place, line in COMPLETION]
        write_verbatim(formatter, "Completion", lines)


def example_lines(examples: Examples) -> list[str]:
    """What to type, each below what it does."""
    return [line for typed, means in examples for line in (f"# {means}", typed)]


def write_verbatim(formatter: click.HelpFormatter, title: str, lines: Iterable[str]) -> None:
    """A section whose lines stay as they are."""
    with formatter.section(title):
        formatter.write("".join(f"{' ' * formatter.current_indent}{each}\n" for each in lines))


def _write_list(formatter: click.HelpFormatter, title: str, rows: list[tuple[str, str]]) -> None:
    with formatter.section(title):
        formatter.write_dl(rows)
