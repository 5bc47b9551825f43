"""Forks in a signal handler, at each place of some work in turn; the child returns into the work.

Each child ends before its parent goes on.  Says where something went wrong, and at the end whether
children were refused, and in how many places it was done.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).parents[3]))

import interlock
from tests.backends.handlers import Handler

#: Seconds that neither a child nor its parent takes, unless one waits for what the other has.
LONG = 3.0

#: What a child hears that returns into a call of its parent, or has what is its parent's.
OTHERS = "a signal handler has forked", "this process is a fork of the holder"


def say(words: object) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def pair(client: interlock.Client) -> None:
    with client.lock("k", timeout=10) as hold:
        own = hold.owner.startswith(client._session.identity)
        assert own or hold.lost, "the child believes that it holds what its parent took"


def look(client: interlock.Client) -> None:
    client.inspect("k")


def line(client: interlock.Client) -> None:
    """Wait behind a sibling."""
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with client.lock("k"):
            held.set()
            let_go.wait()

    sibling = threading.Thread(target=hold)
    sibling.start()
    held.wait()
    timer = threading.Timer(0.02, let_go.set)
    timer.start()
    try:
        pair(client)
    finally:
        if os.getpid() == PARENT:
            let_go.set()
            sibling.join()


PARENT = os.getpid()


class Family:
    """A process, and the child that it forks at one place of its work."""

    def __init__(self, url: str, at: int, parts: Iterable[str]) -> None:
        self.client, self.at = interlock.connect(url), at
        self.handler = Handler(at, parts, self._fork)
        #: What is wrong; and whether the child was refused.
        self.wrong, self.refused = "", False

    def work(self, work: Callable[[interlock.Client], None]) -> None:
        began, outcome = time.monotonic(), ""
        try:
            self.handler.run(lambda: work(self.client))
        except BaseException as failure:
            outcome = f"{type(failure).__name__}: {failure}"
        if os.getpid() != PARENT:
            self._end(outcome)
        elif outcome or time.monotonic() - began > 2 * LONG:
            self.wrong += f" parent, {time.monotonic() - began:.1f} s: {outcome}"
        self.client.close()

    def _fork(self) -> None:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            self._voice = write
            signal.alarm(int(3 * LONG))  # whatever hangs
            return
        began = time.monotonic()
        os.close(write)
        self._hear(os.fdopen(read).read(), os.waitpid(child, 0)[1])
        if time.monotonic() - began > LONG:
            self.wrong += f" child took {time.monotonic() - began:.1f} s"

    def _end(self, outcome: str) -> NoReturn:
        os.write(self._voice, outcome.encode())
        os._exit(0)

    def _hear(self, outcome: str, status: int) -> None:
        self.refused = OTHERS[0] in outcome
        strange = outcome and not any(words in outcome for words in OTHERS)
        if status or strange or "background" in outcome:
            self.wrong += f" child, {status}: {outcome}"


def main(work: str, url: str, *parts: str) -> None:
    """`parts` are those of the package in which a handler forks; all, if none is named."""
    at, refused = 0, 0
    with interlock.connect(url) as onlooker:
        while True:
            at += 1
            family = Family(url, at, parts or [""])
            family.work(globals()[work])
            if family.handler.where is None:
                break
            refused += family.refused
            left = [info.name for info in onlooker.locks() if info.holders]
            if family.wrong or left:
                say(f"{family.handler.where}:{family.wrong} left: {left}")
    say(f"struck in {'many' if at > 5 else at} places")
    say("children were refused" if refused > 3 else f"{refused} refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
