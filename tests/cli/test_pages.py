"""The page and the man page say what the commands say."""

from __future__ import annotations

import re

import click
import pytest

from interlock.cli.main import cli
from tools import cli_pages

from ..architecture.source import ROOT


def test_the_page_is_what_the_commands_say() -> None:
    """If this fails: `python -m tools.cli_pages` writes both anew."""
    assert cli_pages.PAGE.read_text() == cli_pages.page()
    assert cli_pages.MANUAL.read_text() == cli_pages.manual()


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_every_command_has_help_with_an_example_of_itself(command: click.Command) -> None:
    context = click.Context(command, parent=click.Context(cli, info_name="interlock"))
    text = command.get_help(context)

    assert f"interlock {command.name}" in text.partition("Examples:")[2]
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_examples_are_lines_that_click_accepts(command: click.Command) -> None:
    import shlex

    for typed, _ in getattr(command, "examples", ()):
        words = shlex.split(re.split(r" (?:\||&&|>>) ", typed)[0])
        assert words[:2] == ["interlock", command.name]
        command.make_context("interlock", words[2:])


def test_the_wheel_has_the_man_page() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    data = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert data == {"docs/interlock.1": "share/man/man1/interlock.1"}


def test_no_line_of_the_man_page_is_taken_for_a_macro_by_mistake() -> None:
    macros = {"TH", "SH", "SS", "PP", "TP", "B", "nf", "fi", "RS", "RE"}
    lines = [line for line in cli_pages.manual().splitlines() if line.startswith((".", "'"))]

    assert {line[1:].partition(" ")[0] for line in lines} == macros
