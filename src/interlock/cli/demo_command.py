"""`interlock demo`: eight processes, one lock, two accidents."""

from __future__ import annotations

import sys

import click

from .helping import ExampledCommand
from .options import duration, said_url


@click.command(
    cls=ExampledCommand,
    examples=(
        ("interlock demo", "a picture in the terminal, for twenty seconds"),
        ("interlock demo --url redis://localhost --plain", "on a server, as lines"),
    ),
)
@click.option("--url", metavar="URL", help="Another store than a SQLite file of its own.")
@click.option("--seconds", type=duration, default="20", show_default=True, help="How long.")
@click.option("--plain", is_flag=True, help="Lines in place of the picture.")
def demo(url: str | None, seconds: float, plain: bool) -> int:
    """Eight processes, one lock, two accidents.

    One worker is killed while it holds the lock, and one is paused. The demo ends by itself, with
    0 only if the counter is right, the paused worker reported its loss and its late write was
    refused.
    """
    if not 1 <= seconds <= 3600:
        raise click.UsageError("--seconds must be between 1 and 3600")
    if sys.platform == "win32":
        raise click.UsageError("the demo pauses a process, which needs a POSIX system")
    if (said := said_url(url) or "").startswith("memory:"):
        raise click.UsageError("memory:// is one process's own, and the demo has eight")
    from .demo import perform

    return perform(said, seconds, plain)
