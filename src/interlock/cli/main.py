"""The command line: `interlock`, also `python -m interlock`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import click

from .. import __version__
from ..errors import InterlockError
from . import codes
from .bench import bench
from .demo_command import demo
from .doctor import doctor
from .helping import CommandGroup
from .look import ls, revoke, show, wait
from .messages import say
from .run import run
from .watch import watch

PROGRAM = "interlock"


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--url", metavar="URL", help="The store; see the commands.")
@click.option("-v", "--verbose", is_flag=True, help="Say what the library remarks.")
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli(url: str | None, verbose: bool) -> None:
    """Locks across processes and machines, from the shell.

    A store keeps them: a SQLite file, Redis or ZooKeeper. Lengths of time are seconds, or look
    like 500ms, 10s, 5m, 2h or 30d. Each command has --help, with examples.
    """


for command in (run, ls, show, wait, revoke, watch, doctor, bench, demo):
    cli.add_command(command)


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words say; answers the exit code.  An error is one sentence."""
    try:
        code = cli.main(words, PROGRAM, standalone_mode=False)
        return code if isinstance(code, int) else codes.OK
    except click.UsageError as wrong:
        where = wrong.ctx.command_path if wrong.ctx is not None else PROGRAM
        say(f"{_sentence(wrong.format_message())}; see '{where} --help'")
        return codes.USAGE
    except click.Abort:
        return codes.SIGNALLED + signal.SIGINT
    except InterlockError as error:
        say(str(error))
        return codes.of_error(error)


def _sentence(text: str) -> str:
    """Click's messages end in a full stop, and ours go on."""
    return text.strip().rstrip(".")


def leave(code: int) -> None:
    """End this process.  After Ctrl-C it ends as others do, so that loops of a shell end too."""
    sys.stdout.flush()
    if code == codes.SIGNALLED + signal.SIGINT and sys.platform != "win32" and os.isatty(0):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(code)
