"""Writes docs/cli.md and the man page docs/interlock.1: `python -m tools.cli_pages`.

Both are made of the commands, as click knows them, and of what no help says, which is in
cli_prose.md; `tests/cli/test_pages.py` holds the files equal to what this makes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path

import click

from interlock import __version__
from interlock.cli import bench_figures, tables
from interlock.cli.helping import ExampledCommand, example_lines
from interlock.cli.main import PROGRAM, cli
from interlock.cli.texts import COMPLETION, ENVIRONMENT, EXIT_CODES

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, MANUAL = DOCS / "cli.md", DOCS / "interlock.1"

JSON, JSON_OF_BENCH, SHELLS = "JSON", "JSON of bench", "Shell completion"


def prose() -> dict[str, str]:
    """What no help says, by its title; at the beginning, with no title, what the page is."""
    text = Path(__file__).with_name("cli_prose.md").read_text().rstrip("\n")
    head, *parts = re.split(r"\n\n##+ (.*)\n\n", text)
    return {"": head, **dict(zip(parts[::2], parts[1::2], strict=True))}


def commands() -> Iterator[tuple[click.Command, click.Context]]:
    """The program, and each command, with the context that its help is made in."""
    root = click.Context(cli, info_name=PROGRAM, **cli.context_settings)
    yield cli, root
    for name in cli.list_commands(root):
        command = cli.commands[name]
        yield command, click.Context(command, parent=root, info_name=name)


def usage(command: click.Command, ctx: click.Context) -> str:
    return f"{ctx.command_path} {' '.join(command.collect_usage_pieces(ctx))}"


def paragraphs(command: click.Command) -> list[str]:
    """The text of the help, a line for each paragraph."""
    return [" ".join(part.split()) for part in cleandoc(command.help or "").split("\n\n")]


def options(command: click.Command, ctx: click.Context) -> list[tuple[str, str]]:
    """The options, as the help shows them."""
    every = (each for each in command.get_params(ctx) if isinstance(each, click.Option))
    return [record for each in every if (record := each.get_help_record(ctx)) is not None]


def examples(command: click.Command) -> list[str]:
    return example_lines(command.examples) if isinstance(command, ExampledCommand) else []


def about_running() -> list[tuple[str, str]]:
    """What happens while a command runs: titles and texts."""
    others = ("", JSON, JSON_OF_BENCH, SHELLS)
    return [(title, text) for title, text in prose().items() if title not in others]


# --- the page ------------------------------------------------------------------------------------


def page() -> str:
    """The page, in Markdown."""
    said = prose()
    parts = [said[""]]
    for command, ctx in commands():
        parts += _section(command, ctx)
        if command.name == "run":
            parts += [f"### {title}\n\n{text}" for title, text in about_running()]
    kinds = ("field", "type", "what")
    parts += ["## JSON", said[JSON], _table(kinds, tables.FIELDS)]
    parts += [said[JSON_OF_BENCH], _table(kinds, bench_figures.FIELDS)]
    parts += ["## Exit codes", _table(("code", "meaning"), EXIT_CODES)]
    parts += ["## Environment", _table(("variable", "meaning"), ENVIRONMENT)]
    parts += [f"## {SHELLS}", said[SHELLS], _table(("shell", "in", "line"), COMPLETION, 2)]
    return "\n\n".join(parts) + "\n"


def _section(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield f"## {ctx.command_path}"
    yield _block(usage(command, ctx), "text")
    yield from map(_sentences, paragraphs(command))
    yield _table(("option", "meaning"), options(command, ctx))
    if shown := examples(command):
        yield _block("\n".join(shown), "sh")


def _sentences(paragraph: str) -> str:
    """A line for each sentence, as our pages have it."""
    return re.sub(r"(?<=[\w)][.]) (?=[A-Z])", "\n", paragraph)


def _block(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], *also: int) -> str:
    """A table whose first column is code, and others that are said to be."""
    code = {0, *also}
    cells = [heads, *([_cell(c, at in code) for at, c in enumerate(row)] for row in rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join((lines[0], "|---" * len(heads) + "|", *lines[1:]))


def _cell(text: str, code: bool) -> str:
    cell = " ".join(text.split()).replace("|", "\\|")
    return f"`{cell}`" if code else cell


# --- the man page --------------------------------------------------------------------------------


def manual() -> str:
    """The man page, in the macros of man(7)."""
    lines = [f'.TH INTERLOCK 1 "" "interlock {__version__}" "User Commands"']
    lines += [".SH NAME", "interlock \\- locks across processes and machines, from the shell"]
    for command, ctx in commands():
        lines += _of_program(command, ctx) if command is cli else _of_command(command, ctx)
    lines += [".SH RUNNING A COMMAND"]
    for title, text in about_running():
        lines += [f".SS {_roff(title)}", *_prose(text)]
    lines += [".SH JSON", *_prose(prose()[JSON])]
    lines += _terms((name, f"{kind}: {what}") for name, kind, what in tables.FIELDS)
    lines += [".SH EXIT STATUS", *_terms(EXIT_CODES), ".SH ENVIRONMENT", *_terms(ENVIRONMENT)]
    lines += [".SH COMPLETION", *_prose(prose()[SHELLS])]
    lines += _terms((f"{shell}, in {place}", line) for shell, place, line in COMPLETION)
    return "\n".join(lines) + "\n"


def _of_program(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield ".SH SYNOPSIS"
    yield f".B {_roff(usage(command, ctx))}"
    yield ".SH DESCRIPTION"
    yield from _prose("\n\n".join(paragraphs(command)))
    yield ".SH OPTIONS"
    yield from _terms(options(command, ctx))
    yield ".SH COMMANDS"


def _of_command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield f".SS {_roff(usage(command, ctx))}"
    yield from _prose("\n\n".join(paragraphs(command)))
    yield from _terms(options(command, ctx))
    if shown := examples(command):
        yield from _verbatim(shown)


def _prose(text: str) -> Iterator[str]:
    for part in text.split("\n\n"):
        lines = part.splitlines()
        if part.startswith("```"):
            yield from _verbatim(lines[1:-1])
        else:
            yield from (".PP", *map(_roff, lines))


def _verbatim(lines: Iterable[str]) -> Iterator[str]:
    yield from (".PP", ".nf", ".RS", *map(_roff, lines), ".RE", ".fi")


def _terms(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for term, meaning in rows:
        yield from (".TP", f".B {_roff(term)}", _roff(" ".join(meaning.split())))


def _roff(text: str) -> str:
    """A line of text for troff: code is bold, links are their words."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    for path, text in ((PAGE, page()), (MANUAL, manual())):
        path.write_text(text)
        sys.stdout.write(f"wrote {path}\n")
