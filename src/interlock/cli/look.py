"""`ls`, `show`, `wait` and `revoke`: looking at what is held, and ending it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from .. import words
from . import codes
from .helping import ExampledCommand
from .messages import say
from .options import (
    complete_names,
    duration,
    json_option,
    open_client,
    store_options,
)

if TYPE_CHECKING:
    from ..api.client import Client
    from ..model import LockInfo

#: Seconds between two looks of `wait`: the first, and the longest.
SOON, LATER = 0.05, 0.5

name_argument = click.argument("name", shell_complete=complete_names)


@click.command(
    "ls",
    cls=ExampledCommand,
    examples=(
        ("interlock ls", "everything in use"),
        ("interlock ls 'orders:*'", "whose names match, as in a shell"),
        ("interlock ls --json | jq '.[] | select(.waiters > 0).name'", "what is waited for"),
    ),
)
@json_option
@store_options
@click.argument("pattern", default="*")
def ls(pattern: str, as_json: bool, url: str | None, verbose: bool) -> None:
    """List the names that are in use.

    PATTERN is as in a shell: * stands for any letters. On Redis this walks over all keys, on
    ZooKeeper over all nodes.
    """
    from .tables import fields, print_json, print_table

    with open_client(url, verbose) as client:
        infos = client.locks(pattern)
    if as_json:
        print_json([fields(info) for info in infos])
    elif infos:
        print_table(infos)


@click.command(
    cls=ExampledCommand,
    examples=(
        ("interlock show orders:42", "who holds it, for how long, and who waits"),
        ("interlock show deploy --json | jq -r '.holders[].host'", "on which machine"),
    ),
)
@json_option
@store_options
@name_argument
def show(name: str, as_json: bool, url: str | None, verbose: bool) -> int:
    """Show who holds NAME. Exits with 1 when it is free."""
    from .tables import fields, lines, print_json

    with open_client(url, verbose) as client:
        info = client.inspect(name)
    if as_json:
        print_json(None if info is None else fields(info))
    else:
        click.echo(f"{name}  free" if info is None else "\n".join(lines(info)))
    return codes.NO if info is None else codes.OK


@click.command(
    cls=ExampledCommand,
    examples=(("interlock wait -w 10m migration && ./start.sh", "start when it is done"),),
)
@click.option("-w", "--wait", "limit", type=duration, help="Wait so long at most: 75.")
@json_option
@store_options
@name_argument
def wait(name: str, limit: float | None, as_json: bool, url: str | None, verbose: bool) -> int:
    """Wait until NAME is free, without taking it.

    A semaphore is free when it has a permit, a latch when it is counted down. The store is asked
    about twice a second, so a lock that one holder hands to the next may never be seen free.
    """
    from .tables import print_json

    began = time.monotonic()
    with open_client(url, verbose) as client:
        busy = _wait(client, name, began, limit)
    waited = time.monotonic() - began
    if as_json:
        print_json({"name": name, "free": busy is None, "waited": round(waited, 3)})
    elif busy is not None:
        say(f"{name!r} is still {_held(busy)} after {words.duration(waited)}")
    return codes.OK if busy is None else codes.BUSY


def _wait(client: Client, name: str, began: float, limit: float | None) -> LockInfo | None:
    """Look until it is free; what was seen last where the time was not enough."""
    pause = SOON
    while (info := client.inspect(name)) is not None and not _is_free(info):
        left = pause if limit is None else began + limit - time.monotonic()
        if left <= 0:
            return info
        time.sleep(min(pause, left))
        pause = min(2 * pause, LATER)
    return None


def _is_free(info: LockInfo) -> bool:
    if info.count is not None:
        return info.count == 0
    return info.available > 0 if info.available is not None else not info.holders


def _held(info: LockInfo) -> str:
    return f"held by {info.holders[0]}" if info.holders else "busy"


@click.command(
    cls=ExampledCommand,
    examples=(("interlock revoke orders:42 --reason 'host 7 hangs'", "the next waiter goes on"),),
)
@click.option("--reason", default="", help="Why, for the holder's error and the log.")
@json_option
@store_options
@name_argument
def revoke(name: str, reason: str, as_json: bool, url: str | None, verbose: bool) -> int:
    """End every lease of NAME. Exits with 1 when it is free.

    The holders learn of it, and of the reason, when they next renew, which is after a third of
    their lease; until then they may go on, so what they write must be fenced by its token. A
    latch is opened.
    """
    from .tables import fields, lines, print_json

    with open_client(url, verbose) as client:
        info = client.revoke(name, reason)
    if as_json:
        print_json(None if info is None else fields(info))
    else:
        click.echo(f"{name}  free" if info is None else f"revoked: {chr(10).join(lines(info))}")
    return codes.NO if info is None else codes.OK
