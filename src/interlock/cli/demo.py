"""Eight processes, one lock; one is killed, one is paused: `python -m interlock.cli.demo`.

Ends by itself after about twenty seconds, with 0 only if the counter is right, the paused
worker reported its loss and its late write was refused.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from urllib.parse import quote

from ..api.connect import connect
from ..errors import InterlockError
from .demo_score import Score
from .demo_screen import Screen, open_screen
from .demo_script import DemoFailed, DemoRun


def main(words: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code tells how it went."""
    options = _parser().parse_args(words)
    if not hasattr(signal, "SIGSTOP"):
        sys.stderr.write("the demo pauses a process, which needs a POSIX system: Linux or macOS\n")
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        with _folder() as folder:
            return _play(options, folder)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; all workers were ended\n")
        return 130
    except (InterlockError, DemoFailed) as failure:
        sys.stderr.write(f"{failure}\n")
        return 1


def _play(options: argparse.Namespace, folder: Path) -> int:
    url = options.url or f"sqlite://{quote(str(folder))}/demo.db"
    with open_screen(options.plain, _reached(url), options.seconds) as screen:
        run = DemoRun(url, folder, options.seconds, screen)
        try:
            run.perform()
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C changes nothing
            run.processes.end_all()
    return _verdict(run.score, screen)


def _reached(url: str) -> str:
    """Ask the store a first question, so that an error of it is told once, by the parent."""
    with connect(url) as client:
        client.lock("interlock-demo").locked()
        return client._session.backend.label


def _verdict(score: Score, screen: Screen) -> int:
    complaints = list(score.complaints())
    for complaint in complaints:
        screen.say(f"Not well: {complaint}.", well=False)
    if not complaints:
        screen.say(_praise(score), well=True)
    return 1 if complaints else 0


def _praise(score: Score) -> str:
    lost = score.scribbled - score.loose
    killed, paused = score.recoveries[:2]
    return (
        f"All is well: the counter is right, {score.counter} of {score.counted}; without the lock "
        f"{lost} of {score.scribbled} were lost. The next holder came {killed:.1f} s after the "
        f"kill and {paused:.1f} s after the pause."
    )


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder that is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="interlock-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m interlock.cli.demo", description=__doc__)
    parser.add_argument("--url", type=_shared, help="another store than a SQLite file of its own")
    parser.add_argument("--seconds", type=_seconds, default=20.0, help="how long (default: 20)")
    parser.add_argument("--plain", action="store_true", help="lines in place of the picture")
    return parser


def _shared(url: str) -> str:
    if url.startswith("memory:"):
        raise argparse.ArgumentTypeError("memory:// is one process's own, and the demo has eight")
    return url


def _seconds(word: str) -> float:
    seconds = float(word)
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError("between 1 and 3600")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
