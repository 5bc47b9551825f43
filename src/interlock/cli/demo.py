"""Eight processes, one lock; one is killed, one is paused: `interlock demo`.

Ends by itself after about twenty seconds, with 0 only if the counter is right, the paused
worker reported its loss and its late write was refused.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from urllib.parse import quote

from ..api.connect import connect
from .demo_score import Score
from .demo_screen import Screen, open_screen
from .demo_script import DemoFailed, DemoRun


def perform(url: str, seconds: float, plain: bool) -> int:
    """Run the demo; the exit code tells how it went."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        with _folder() as folder:
            return _play(url or f"sqlite://{quote(str(folder))}/demo.db", seconds, plain, folder)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; all workers were ended\n")
        return 130
    except DemoFailed as failure:
        sys.stderr.write(f"{failure}\n")
        return 1


def _play(url: str, seconds: float, plain: bool, folder: Path) -> int:
    with open_screen(plain, _reached(url), seconds) as screen:
        run = DemoRun(url, folder, seconds, screen)
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
