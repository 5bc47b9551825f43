"""One failover of each kind while clients of both worlds contend, hold and lose: the short form of
`bench.failovers`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from bench.failovers.faults import Fault, Strike
from interlock import LockLost, StoreError
from tests.support.sentinels import SentinelFleet

from ...support.eventually import eventually
from ...support.worlds import WORLDS, World
from .test_sentinel_failover import HOW, LEASE, renew_now

pytestmark = pytest.mark.server

#: What is contended for.
NAMES = ("a", "b")

#: Grants of each name after the promotion that show that no contender hangs.
ENOUGH = 6


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    several = [kind() for kind in WORLDS.values()]
    yield several
    for each in several:
        each.close()


class Contest:
    """Clients of both worlds that take and give back the same names without an end."""

    def __init__(self, worlds: list[World], url: str) -> None:
        #: The tokens of each name, in the order of its grants.
        self.tokens: dict[str, list[int]] = {name: [] for name in NAMES}
        self._over = False
        self._pool = ThreadPoolExecutor()
        self._work: list[Future[None]] = []
        for world in worlds:
            client = world.connect(url)
            for name in NAMES:
                self._work.append(self._pool.submit(self._contend, world, client.lock(name)))

    def _contend(self, world: World, lock: Any) -> None:
        while not self._over:
            hold = world.do(partial(lock.acquire, timeout=20))
            self.tokens[lock.name].append(hold.token)
            with suppress(LockLost, StoreError):  # its primary died, and it may have with it
                world.do(hold.release)
            time.sleep(0.002)

    def await_more(self, grants: int) -> None:
        """Until each name was granted so many times more."""
        before = {name: len(tokens) for name, tokens in self.tokens.items()}
        eventually(
            lambda: all(len(self.tokens[name]) >= before[name] + grants for name in NAMES), 20
        )

    def end(self) -> None:
        self._over = True
        for each in self._work:
            each.result(20)
        self._pool.shutdown()


@contextmanager
def contest(worlds: list[World], url: str) -> Iterator[Contest]:
    contest = Contest(worlds, url)
    try:
        yield contest
    finally:
        contest.end()


@pytest.mark.parametrize("how", HOW)
def test_holders_are_told_of_every_loss_and_tokens_grow_while_clients_contend(
    worlds: list[World], own_sentinels: SentinelFleet, how: str
) -> None:
    fleet = own_sentinels
    strike = Strike(fleet, Fault(how, HOW[how], lagging=2))
    clients = [(world, world.connect(fleet.url, replicas=0)) for world in worlds]
    with contest(worlds, fleet.url) as contending:
        holds = [world.do(_lock(client, 0).acquire) for world, client in clients]
        contending.await_more(ENOUGH)
        strike.lag()  # what is granted from now on may be forgotten
        holds += [world.do(_lock(client, 1).acquire) for world, client in clients]
        strike.strike()
        new = fleet.promoted(strike.old)
        contending.await_more(ENOUGH)

    with fleet.ask(new) as peek:
        eventually(lambda: not peek.exists(*NAMES))  # the contenders have left nothing
        kept = {hold for hold in holds if peek.hexists(hold.name, hold.owner)}
    assert kept >= {*holds[:2]}
    for world, client in clients:
        renew_now(world, client)
    eventually(lambda: {hold for hold in holds if not hold.lost} == kept)
    assert how == "paused" or kept == {*holds[:2]}
    for tokens in contending.tokens.values():
        assert tokens == sorted({*tokens})


def _lock(client: Any, number: int) -> Any:
    return client.lock(f"held-{id(client)}-{number}", lease=LEASE)
