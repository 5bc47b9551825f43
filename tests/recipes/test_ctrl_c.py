"""A Ctrl-C anywhere in an acquire or a release leaves nothing behind."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import interlock
from interlock.backends.memory import MemoryBackend
from interlock.events import Event, Parked

from .strikes import Striker

_worlds = itertools.count()


class Stage:
    """A client under test, and somebody who holds the lock until the client waits."""

    def __init__(self, striker: Striker, holder: str) -> None:
        url = f"memory://ctrl-c-{next(_worlds)}"
        self.striker, self.holder = striker, holder
        self.client = interlock.connect(url, observer=self._observe)
        self.other = interlock.connect(url)
        self.held: interlock.Hold | None = None
        if holder != "nobody":
            whose = self.other if holder == "another client" else self.client
            in_thread(lambda: setattr(self, "held", whose.lock("name").acquire()))

    def _observe(self, event: Event) -> None:
        if isinstance(event, Parked) and self.held is not None:
            self.striker.quiet = True
            in_thread(self.let_go)
            self.striker.quiet = False

    def let_go(self) -> None:
        held, self.held = self.held, None
        if held is not None:
            held.release()

    def left_behind(self) -> dict[str, Any]:
        """What is still known of the client, once its keeper had time to pay its debts."""
        deadline = time.monotonic() + 1
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.002)
        return left

    def _left(self) -> dict[str, Any]:
        backend = self.client._session.backend
        assert isinstance(backend, MemoryBackend)
        records = backend.store.records
        traces: dict[str, Any] = {
            "held": records.holds,
            "waiting": records.queues,
            "on the schedule": self.client._session.schedule.holds(),
            "in line": self.client._session.queue.busy(),
            "in the book": self.client._session.holds.current,
        }
        return {what: list(some) for what, some in traces.items() if some}

    def close(self) -> str:
        """End both clients; tells what the client under test stumbles over."""
        self.other.close()
        try:
            self.client.close()
        except Exception as error:
            return f"closing raised {error!r}"
        return ""


def in_thread(work: Callable[[], None]) -> None:
    """Do something as another thread of the same process would."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def ghosts(holder: str, work: Callable[[Stage], None]) -> list[str]:
    """Strike at each place of some work; tells where something was left behind."""
    found: list[str] = []
    at, struck = 0, True
    while struck:
        at += 1
        stage = Stage(Striker(at), holder)
        work(stage)
        left = stage.left_behind()
        trouble = stage.close()
        if left or trouble:
            found.append(f"{stage.striker.where}: {left or ''} {trouble}")
        struck = stage.striker.where is not None
    assert at > 20, "hardly anything was struck"
    return found


def acquire(stage: Stage) -> None:
    hold = stage.striker.run(lambda: stage.client.lock("name").acquire())
    stage.let_go()
    if hold is not None:
        hold.release()


def release(stage: Stage) -> None:
    hold = stage.client.lock("name").acquire()
    stage.striker.run(hold.release)
    if hold._lease.depth:
        hold.release()


def acquire_several(stage: Stage) -> None:
    locks = stage.client.multilock("name", "other", "third")
    multihold = stage.striker.run(locks.acquire)
    stage.let_go()
    if multihold is not None:
        multihold.release()


def release_several(stage: Stage) -> None:
    multihold = stage.client.multilock("name", "other", "third").acquire()
    stage.striker.run(multihold.release)
    for hold in multihold.holds:  # before it has counted, a release leaves a hold as it was
        if hold._lease.depth:
            hold.release()


@pytest.mark.parametrize("holder", ["nobody", "another client", "a sibling"])
def test_ctrl_c_anywhere_in_an_acquire_leaves_nothing_unless_it_returned(holder: str) -> None:
    assert ghosts(holder, acquire) == []


def test_ctrl_c_anywhere_in_a_release_lets_go_all_the_same() -> None:
    assert ghosts("nobody", release) == []


@pytest.mark.parametrize("holder", ["nobody", "another client", "a sibling"])
def test_ctrl_c_anywhere_in_an_acquire_of_several_leaves_nothing_unless_it_returned(
    holder: str,
) -> None:
    assert ghosts(holder, acquire_several) == []


def test_ctrl_c_anywhere_in_a_release_of_several_lets_go_all_the_same() -> None:
    assert ghosts("nobody", release_several) == []
