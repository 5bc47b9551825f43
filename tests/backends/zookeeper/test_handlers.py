"""A signal handler wants locks, wherever it strikes in the backend: it gets them, and soon."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import interlock
from interlock.backends.zookeeper.transport.requests import Delete
from interlock.drive import now

from ..handlers import Handler
from .scenes import eventually

pytestmark = [pytest.mark.server, pytest.mark.slow]

ZOOKEEPER = "backends/zookeeper"

#: Seconds in which a handler has what it wants, on a busy machine; no deadline is that long.
AT_ONCE = 0.9

Work = Callable[[interlock.Client], object]


def lock(client: interlock.Client) -> None:
    with client.lock("k"):
        pass


def semaphore(client: interlock.Client) -> None:
    with client.semaphore("s", permits=2).acquire():
        pass


def downgrade(client: interlock.Client) -> None:
    with client.rwlock("rw").write() as hold:
        hold.downgrade()


def latch(client: interlock.Client) -> None:
    client.latch("l").start(1)
    client.latch("l").count_down()
    client.latch("l").wait()


class Strikes:
    """A handler that takes another lock at each place of some work, in turn."""

    def __init__(self) -> None:
        self._places = itertools.count(1)
        self.where: str | None = ""
        self.slow: list[str] = []

    def strike(self, client: interlock.Client, work: Work) -> None:
        at, took = next(self._places), list[float]()

        def handle() -> None:
            began = now()
            with client.lock("another", timeout=5):
                pass
            took.append(now() - began)

        handler = Handler(at, ZOOKEEPER, handle)
        handler.run(lambda: work(client))
        self.where = handler.where
        self.slow += [f"{self.where}: {each:.3f} s" for each in took if each > AT_ONCE]

    def __bool__(self) -> bool:
        return self.where is not None

    def check(self) -> None:
        assert next(self._places) > 50, "hardly anything was struck"
        assert self.slow == []


@pytest.mark.parametrize("work", [lock, semaphore, downgrade, latch])
def test_handler_anywhere_in_some_work_has_its_lock_at_once(
    zk_url: str, peek: Any, work: Work
) -> None:
    strikes = Strikes()
    with interlock.connect(zk_url) as client:
        lock(client)
        while strikes:
            strikes.strike(client, work)
            assert client.locks() == [] or work is semaphore, strikes.where
        eventually(lambda: left(peek) == [], f"left: {left(peek)}")
    strikes.check()


def left(peek: Any) -> list[str]:
    """The nodes of those who hold or wait."""
    folders = ["/k", "/another", "/rw", "/s/locks", "/s/leases"]
    return [node for each in folders if peek.exists(each) for node in peek.get_children(each)]


def test_handler_anywhere_in_the_first_use_of_a_client_opens_one_session(
    zk_url: str, peek: Any
) -> None:
    strikes = Strikes()
    while strikes:
        with interlock.connect(zk_url) as client:
            strikes.strike(client, lock)
            assert peek.get_children("/k") == [], strikes.where
            eventually(lambda: len(peek.get_children("/interlock:clients")) <= 1, "several")
    strikes.check()


def test_client_that_is_closed_by_a_handler_anywhere_ends(zk_url: str, peek: Any) -> None:
    """The interrupted thread is told so, or was done before."""
    for at in itertools.count(1, 4):  # each takes a quarter of a second: questions are waited for
        client = interlock.connect(zk_url)
        lock(client)
        thread = client._session.link._transport._thread  # type: ignore[attr-defined]
        handler = Handler(at, ZOOKEEPER, client.close)
        try:
            handler.run(partial(lock, client))
        except interlock.InterlockError as error:
            assert "closed" in str(error), (handler.where, error)
        client.close()
        assert thread.gone.wait(5), handler.where
        if handler.where is None:
            break
    eventually(lambda: left(peek) == [], f"left: {left(peek)}")


def interrupt() -> None:
    raise KeyboardInterrupt


def test_unawaited_request_whose_sender_is_interrupted_anywhere_is_done(
    zk_url: str, zk_path: str, peek: Any
) -> None:
    """Nobody waits for it, so nobody else would see to it."""
    at = 0
    for at in itertools.count(1):
        with interlock.connect(zk_url) as client:
            lock(client)
            peek.ensure_path("/errand")
            unawaited = client._session.link._transport._unawaited  # type: ignore[attr-defined]
            unawaited.add(Delete(f"{zk_path}/errand", awaited=False))
            handler = Handler(at, ZOOKEEPER, interrupt)
            handler.run(partial(lock, client))
            lock(client)  # whoever comes next sends what is left
            eventually(lambda: not peek.exists("/errand"), f"forgotten: {handler.where}", within=2)
            if handler.where is None:
                break
    assert at > 50
