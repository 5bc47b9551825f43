"""A signal handler wants locks, wherever it strikes: it gets them, or is told that it cannot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock.events import Event, Parked

from ..handlers import Handler
from .raw import ask

SQLITE = "backends/sqlite"

#: What the handler hears in the middle of a call of its own thread.
REFUSED = "a signal handler or a finalizer has interrupted"


class Stage:
    """A client whose calls are struck at one place by a handler that uses it as well."""

    def __init__(self, url: str, at: int) -> None:
        self.handler = Handler(at, SQLITE, self._handle)
        self.client = interlock.connect(url, observer=self._observe)
        self.other = interlock.connect(url)
        self.held: Any = None
        self._handling = False
        #: What the handler was told, if it was not to have its way.
        self.told: list[str] = []

    def hold(self) -> None:
        """Let another client hold the lock until a waiter comes."""
        in_thread(lambda: setattr(self, "held", self.other.lock("k").acquire()))

    def _observe(self, event: Event) -> None:
        waits = isinstance(event, Parked) and not self._handling
        if waits and self.held is not None:
            held, self.held, self.handler.quiet = self.held, None, True
            in_thread(held.release)
            self.handler.quiet = False

    def _handle(self) -> None:
        self._handling = True
        for name in ("another", "k"):
            try:
                hold = self.client.lock(name).acquire(blocking=False)
                if hold is not None:
                    hold.release()
            except interlock.StoreUnavailable as refusal:
                self.told.append(str(refusal))
        self._handling = False

    def close(self) -> None:
        self.client.close()
        self.other.close()


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def take_and_release(stage: Stage) -> None:
    with stage.client.lock("k"):
        pass


def wait_and_release(stage: Stage) -> None:
    stage.hold()
    take_and_release(stage)


@pytest.mark.slow
@pytest.mark.parametrize("work", [take_and_release, wait_and_release])
def test_handler_has_its_locks_or_is_refused_and_hurts_nobody(
    url: str, path: Path, work: Callable[[Stage], None]
) -> None:
    refused = at = 0
    while True:
        at += 1
        stage = Stage(url, at)
        stage.handler.run(partial(work, stage))
        stage.close()
        if stage.handler.where is None:
            break
        assert all(REFUSED in words for words in stage.told), (stage.handler.where, stage.told)
        assert ask(path, "SELECT name FROM records WHERE name != ''") == [], stage.handler.where
        assert ask(path, "SELECT owner FROM queue") == [], stage.handler.where
        refused += bool(stage.told)
    assert at > 50
    assert 0 < refused < at
