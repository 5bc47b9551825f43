"""`interlock doctor`: what makes the locks of a store unsafe."""

from __future__ import annotations

from dataclasses import asdict

import click

from . import codes
from .helping import ExampledCommand
from .options import json_option, open_client, store_options

COLOURS = {"serious": "red", "warning": "yellow", "info": "blue"}


@click.command(
    cls=ExampledCommand,
    examples=(
        ("interlock doctor --url redis://localhost", "look at one store"),
        ("interlock doctor --json | jq -r '.[].code'", "what it is called in docs/doctor.md"),
    ),
)
@json_option
@store_options
def doctor(as_json: bool, url: str | None, verbose: bool) -> int:
    """Look for what makes the locks of the store unsafe.

    Each finding says what to do. Exits with 1 when one of them is serious: two clients may have
    one lock, or a lock may vanish, as things are.
    """
    from .tables import print_json

    with open_client(url, verbose) as client:
        label, findings = client._session.backend.label, client.doctor()
    if as_json:
        print_json([asdict(each) for each in findings])
    elif not findings:
        click.echo(f"{label}: nothing was found that makes its locks unsafe")
    else:
        for each in findings:
            head = click.style(each.severity, COLOURS.get(each.severity), bold=True)
            click.echo(f"{head} {each.code} {each.node}\n  {each}")
    return codes.NO if any(each.severity == "serious" for each in findings) else codes.OK
