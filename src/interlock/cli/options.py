"""What the commands share: options, lengths of time, names to complete, and the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import UsageError
from ..model import as_seconds, spelled
from .messages import show_log

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..api.client import Client

F = TypeVar("F", bound=Callable[..., Any])


def duration(text: str | float) -> float:
    """A length of time: "10", "10s", "500ms", "5m", "2h" or "30d"."""
    try:
        return as_seconds("it", spelled("it", text))
    except UsageError as wrong:
        raise click.BadParameter(str(wrong)) from None


def store_options(command: F) -> F:
    """Which store, and how much is said."""
    verbose = click.option("-v", "--verbose", is_flag=True, help="Say what the library remarks.")
    url = click.option(
        "--url",
        metavar="URL",
        help="The store, such as redis://localhost; INTERLOCK_URL says it for all commands, and "
        "without either it is the SQLite file of your user.",
    )
    return url(verbose(command))


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def said_url(url: str | None) -> str | None:
    """The URL on the command line: behind the command, or before it."""
    before = click.get_current_context().find_root().params
    return url or before.get("url")


def open_client(url: str | None, verbose: bool) -> Client:
    """A client of the store that is meant."""
    from ..api.connect import connect

    show_log(verbose or bool(click.get_current_context().find_root().params.get("verbose")))
    return connect(said_url(url))


def complete_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names in use that begin so; nothing where the store does not say so within a second.

    Cost: one round trip; on Redis a walk over all keys, on ZooKeeper over all nodes.
    """
    from click.shell_completion import CompletionItem

    from ..api.connect import connect
    from ..drive import now
    from ..errors import InterlockError

    try:
        with connect(ctx.params.get("url") or ctx.find_root().params.get("url")) as client:
            session = client._session
            names = session.run(session.backend.directory.names(now() + 1.0))
    except InterlockError:
        return []
    return [CompletionItem(name) for name, _ in sorted(names) if name.startswith(incomplete)]
