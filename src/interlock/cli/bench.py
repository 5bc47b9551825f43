"""`interlock bench`: a quick figure for a store, from this machine."""

from __future__ import annotations

import click

from .helping import ExampledCommand
from .options import duration, json_option, open_client, said_url, store_options


@click.command(
    cls=ExampledCommand,
    examples=(("interlock bench --url redis://localhost", "how fast this store is from here"),),
)
@click.option("--seconds", type=duration, default="4", show_default=True, help="How long.")
@json_option
@store_options
def bench(seconds: float, as_json: bool, url: str | None, verbose: bool) -> None:
    """Measure how fast the store is, from here.

    Half of the time one client takes and releases a free lock; the other half four clients, each
    in a thread, want the same lock, so that it is handed on. The store has a lock of a random name
    meanwhile.
    """
    from .bench_figures import measure, words
    from .tables import print_json

    with open_client(url, verbose) as client:
        figures = measure(client, said_url(url), seconds)
    if as_json:
        print_json(figures)
    else:
        click.echo(words(figures))
