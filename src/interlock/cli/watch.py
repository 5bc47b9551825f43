"""`interlock watch`: what is held, as it happens."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from . import codes
from .helping import ExampledCommand
from .options import duration, json_option, open_client, store_options

if TYPE_CHECKING:
    from ..api.client import Client


@click.command(
    cls=ExampledCommand,
    examples=(
        ("interlock watch", "everything, in a picture that is drawn anew every second"),
        ("interlock watch 'orders:*' --json >> orders.log", "a line of JSON for each look"),
    ),
)
@click.option("--every", type=duration, default="1s", show_default=True, help="How often to look.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="Leave after so many looks.")
@json_option
@store_options
@click.argument("pattern", default="*")
def watch(
    pattern: str,
    every: float,
    count: int | None,
    as_json: bool,
    url: str | None,
    verbose: bool,
) -> int:
    """Watch what is held: holders, waiters, and leases that run out.

    In a terminal it is a picture, in which leases shrink as bars until they are renewed; Ctrl-C
    leaves. Elsewhere it is a table for each look. A look costs what ls costs.
    """
    if every < 0.05:
        raise click.UsageError("--every must be at least 50ms")
    with open_client(url, verbose) as client:
        client.locks(pattern)  # an error of the first look is told as any other
        try:
            if sys.stdout.isatty() and not as_json:
                from .watch_picture import show_picture

                show_picture(client, pattern, every, count)
            else:
                _print(client, pattern, every, count, as_json)
        except KeyboardInterrupt:
            return codes.OK  # as it is left
    return codes.OK


def _print(client: Client, pattern: str, every: float, count: int | None, as_json: bool) -> None:
    from .tables import fields, print_json, print_table

    looks = 0
    while True:
        infos, at = client.locks(pattern), time.time()
        if as_json:
            print_json({"at": round(at, 3), "locks": [fields(info) for info in infos]})
        else:
            click.echo(time.strftime("%H:%M:%S", time.localtime(at)))
            print_table(infos)
        looks += 1
        if looks == count:
            return
        time.sleep(every)
