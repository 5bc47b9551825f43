"""`interlock run`: a command under a lock."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from . import codes
from .helping import ExampledCommand
from .options import complete_names, duration, said_url, store_options

if TYPE_CHECKING:
    from ..api.client import Client

#: Seconds between SIGTERM and SIGKILL, unless the lease is too short for it.
GRACE = 5.0

EXAMPLES = (
    ("interlock run nightly-report -- ./report.sh", "wait for the lock, then run"),
    ("interlock run -n nightly-report -- ./report.sh", "skip it where another one runs: 75"),
    ("interlock run -w 5m -E 0 deploy -- make deploy", "wait five minutes, then give up with 0"),
    ("interlock run -N 4 gpu -- python train.py", "four at a time"),
    ("interlock run -s cache -- du -sh /srv/cache", "beside other readers"),
    ("interlock run -x cache -- rm -r /srv/cache", "alone: neither readers nor writers"),
    (
        "interlock run -n --at-least-for 50s tick -- date",
        "in every machine's crontab: once a tick",
    ),
)


@dataclass(frozen=True)
class RunWish:
    """What was said on the command line."""

    name: str
    command: tuple[str, ...]
    mode: str | None = None
    permits: int | None = None
    timeout: float | None = None
    lease: float = 30.0
    max_hold: float | None = None
    at_least_for: float = 0.0
    busy_code: int = codes.BUSY
    on_lost: str = "term"
    grace: float | None = None
    quiet: bool = False

    def checked(self) -> RunWish:
        """Refuse what contradicts itself."""
        if self.mode is not None and self.permits is not None:
            raise click.UsageError("-N is a semaphore, and -s and -x are a read/write lock")
        if self.grace is not None and self.grace > self.lease / 2:
            raise click.UsageError("-k must be at most half of the lease: say a longer one by -l")
        if self.max_hold is not None and self.at_least_for > self.max_hold:
            raise click.UsageError("--at-least-for must not be longer than --max-hold")
        return self

    @property
    def patience(self) -> float:
        """The grace that was said, or the usual one as far as the lease allows it."""
        return min(GRACE, self.lease / 6) if self.grace is None else self.grace

    def lock(self, client: Client) -> Any:
        """What is to be held."""
        terms: dict[str, Any] = {
            "lease": self.lease,
            "max_hold": self.max_hold,
            "timeout": self.timeout,
        }
        if self.permits is not None:
            return client.semaphore(self.name, permits=self.permits, **terms)
        if self.mode is None:
            return client.lock(self.name, **terms)
        rwlock = client.rwlock(self.name, **terms)
        return rwlock.read() if self.mode == "shared" else rwlock.write()


def _words(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    """The command, which begins behind the name or behind `--`."""
    behind = words[1:] if words[:1] == ("--",) else words
    if not behind:
        raise click.UsageError("a COMMAND is missing: interlock run NAME -- COMMAND", ctx)
    if behind is words and words[0].startswith("-"):
        raise click.UsageError(f"options such as {words[0]} go before NAME", ctx)
    return behind


@click.command(
    cls=ExampledCommand,
    examples=EXAMPLES,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS]",
)
@click.option("-n", "--nonblock", is_flag=True, help="Do not wait: exit with 75 when busy.")
@click.option("-w", "--wait", type=duration, help="Wait so long at most, then exit with 75.")
@click.option("-s", "--shared", "mode", flag_value="shared", help="Read: beside other readers.")
@click.option("-x", "--exclusive", "mode", flag_value="exclusive", help="Write: alone.")
@click.option(
    "-N",
    "--permits",
    type=click.IntRange(1),
    metavar="PERMITS",
    help="A semaphore: so many at a time. The first who uses NAME says how many.",
)
@click.option(
    "-l",
    "--lease",
    type=duration,
    default="30s",
    show_default=True,
    help="How long the store keeps the lock when this machine dies; it is renewed until then.",
)
@click.option("--max-hold", type=duration, help="Stop the command before it holds for longer.")
@click.option(
    "--at-least-for",
    type=duration,
    default="0s",
    help="Keep the lock so long, also when the command ends before: for clocks that differ.",
)
@click.option(
    "-E",
    "--conflict-exit-code",
    "busy_code",
    type=click.IntRange(0, 255),
    metavar="CODE",
    default=codes.BUSY,
    help="Exit with this code, and not with 75, when busy.",
)
@click.option(
    "--on-lost",
    type=click.Choice(["term", "ignore"]),
    default="term",
    show_default=True,
    help="What becomes of the command when the lock is lost: stopped, or left alone.",
)
@click.option(
    "-k",
    "--kill-after",
    "grace",
    type=duration,
    help="Seconds from SIGTERM to SIGKILL: 5, or a sixth of a lease shorter than 30 s; at most "
    "half of the lease.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not say why it is busy.")
@store_options
@click.argument("name", shell_complete=complete_names)
@click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, callback=_words, metavar="-- COMMAND..."
)
def run(nonblock: bool, wait: float | None, url: str | None, verbose: bool, **said: Any) -> int:
    """Run COMMAND while holding NAME.

    Waits for the lock, runs COMMAND, and releases the lock when COMMAND and whatever it has
    started are gone; what COMMAND leaves behind is ended. Exits with the code of COMMAND, or 128+n
    when a signal of number n has ended it.

    NAME is a lock, the same as lock(NAME) in Python; with -s and -x a read/write lock; with -N a
    semaphore. A name is one of these at a time.

    The lock is kept by its lease, which is renewed in the background. When it is lost COMMAND gets
    SIGTERM, and after the grace SIGKILL, before the lease ends; then the exit code is 79.

    COMMAND has standard input and output and the terminal, and gets the signals TERM, INT, HUP,
    QUIT, USR1, USR2 and WINCH that this program gets. In its environment are INTERLOCK_NAME,
    INTERLOCK_TOKEN (the fencing token) and INTERLOCK_OWNER. A run of the same NAME inside of
    COMMAND passes through.
    """
    if nonblock and wait is not None:
        raise click.UsageError("-n and -w contradict each other")
    wish = RunWish(timeout=0.0 if nonblock else wait, **said).checked()
    if sys.platform == "win32":
        raise click.UsageError("run needs a POSIX system: Linux or macOS")
    if (said_url(url) or os.environ.get("INTERLOCK_URL", "")).startswith("memory:"):
        raise click.UsageError("memory:// is one process's own: choose a store to share")
    sys.argv[0] = f"interlock run {os.path.basename(wish.command[0])}"  # who holds it, for others
    from .run_locked import run_locked

    return run_locked(wish, url, verbose)
