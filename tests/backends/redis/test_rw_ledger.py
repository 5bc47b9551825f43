"""The scripts of read/write locks and the ledger are the same operations, in two languages.

Any sequence of operations is given to both; every answer, wake, queue and holder must agree.
The runs are the same each time; set `INTERLOCK_SEED` to any whole number to draw others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

import interlock
from interlock.backends.redis.rwlocks import RedisRwLocks
from interlock.drive import now
from interlock.ledger import LedgerRw
from interlock.model import Busy, LockInfo
from interlock.spi import RwStore

from .readwrite import hold, reads, writes
from .sides import HeardRecords, Ledger, Server, said

pytestmark = pytest.mark.server

SEED = os.environ.get("INTERLOCK_SEED")

SETTINGS = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=SEED is None,
    suppress_health_check=[HealthCheck.too_slow],
)

#: Three that read and two that write, of two clients.
OWNERS = (reads(1), reads(2), reads(3, client=2), writes(4), writes(5, client=2))
CLIENTS = (reads(1)[:36], reads(3, client=2)[:36])

#: Seconds by which the two may differ, and that a sequence may take: less than it takes any
#: lease in these tests to end by itself, a provisional one included.
SLACK = 1.0


class LedgerSide(Ledger):
    """The ledger, as one of the two sides."""

    def __init__(self, records: type[HeardRecords] = HeardRecords) -> None:
        super().__init__("lock", records)

    def mode(self, which: int) -> RwStore:
        return LedgerRw("read" if which < 3 else "write", "ledger")

    def end(self, owner: str) -> None:
        held = self.records.holds.get("k", {})
        if owner in held:
            held[owner] = (*held[owner][:2], 0.0)


class ServerSide(Server):
    """The scripts on a real server, as the other side."""

    def __init__(self, client: interlock.Client, peek: redis.Redis) -> None:
        super().__init__("lock", client, peek)

    def mode(self, which: int) -> RwStore:
        return RedisRwLocks("read" if which < 3 else "write", "server")

    def end(self, owner: str) -> None:
        """The lease of a reader is its key's, that of a writer the hash's."""
        self.peek.delete(hold(owner))
        if self.peek.hexists("k", f"{owner}:write"):
            self.peek.delete("k")


Side = LedgerSide | ServerSide


def attempt(side: Side, which: int, lease: float, waits: bool) -> Any:
    return said(side, side.mode(which).attempt("k", OWNERS[which], lease, waits, now() + 5))


def release(side: Side, which: int) -> Any:
    return said(side, side.mode(which).release("k", OWNERS[which], now() + 5))


def withdraw(side: Side, which: int) -> Any:
    return said(side, side.mode(which).withdraw("k", OWNERS[which], now() + 5))


def renew(side: Side, which: list[int], lease: float) -> Any:
    holds = [("k", OWNERS[each]) for each in which]
    return said(side, side.mode(which[0]).renew(holds, lease, now() + 5))


def downgrade(side: Side, which: int, lease: float) -> Any:
    return said(side, side.mode(which).downgrade("k", OWNERS[which], lease, now() + 5))


def look(side: Side) -> Any:
    return said(side, side.mode(0).look("k", now() + 5))


def listen(side: Side, client: str) -> Any:
    side.listen(client)


def leave(side: Side, client: str) -> Any:
    side.leave(client)


def end(side: Side, which: int) -> Any:
    """Let a lease end."""
    side.end(OWNERS[which])


def lapse(side: Side) -> Any:
    """Let all leases end."""
    side.lapse("k")


def exhume(side: Side, which: int) -> Any:
    """Let a tombstone end."""
    side.exhume("k", OWNERS[which])


some_owner, some_client = st.integers(0, 4), st.sampled_from(CLIENTS)
some_lease, some_waiting = st.sampled_from([10.0, 30.0]), st.sampled_from([True, True, False])
some_owners = st.lists(some_owner, min_size=1, max_size=3)
#: Each kind of operation, and how many of thirty it makes up.
SHARES = [
    (13, st.tuples(st.just(attempt), some_owner, some_lease, some_waiting)),
    (5, st.tuples(st.just(release), some_owner)),
    (2, st.tuples(st.just(withdraw), some_owner)),
    (1, st.tuples(st.just(renew), some_owners, some_lease)),
    (2, st.tuples(st.just(downgrade), some_owner, some_lease)),
    (1, st.tuples(st.just(listen), some_client)),
    (1, st.tuples(st.just(leave), some_client)),
    (3, st.tuples(st.just(end), some_owner)),
    (1, st.tuples(st.just(lapse))),
    (1, st.tuples(st.just(exhume), some_owner)),
]
kinds: list[st.SearchStrategy[Any]] = [kind for share, kind in SHARES for _ in range(share)]
operations = st.sampled_from(kinds).flatmap(lambda kind: kind)

#: Who listens from the beginning; mostly both.
some_ears = st.sampled_from([(), CLIENTS[:1], CLIENTS, CLIENTS])


def comparable(answer: Any) -> tuple[Any, list[float]]:
    """What must be equal in an answer, and the times in it, which must be close.

    Which of several readers a refused one is told of is nobody's business.
    """
    if isinstance(answer, Busy):
        return "busy", [answer.left or 0.0]
    if isinstance(answer, LockInfo):
        holders = sorted((each.owner, each.mode, each.expires_in or 0) for each in answer.holders)
        facts = (answer.name, answer.kind, [each[:2] for each in holders], answer.waiters)
        return facts, [answer.expires_in or 0.0, *(each[2] for each in holders)]
    return list(answer) if isinstance(answer, (list, tuple)) else answer, []


def told_of_a_holder(answer: Any, info: LockInfo | None) -> bool:
    """Whether a refused one was told of somebody who holds."""
    if not isinstance(answer, Busy):
        return True
    return info is not None and answer.holder in {each.owner for each in info.holders}


def disagreement(
    ledger: LedgerSide, server: ServerSide, sequence: list[tuple[Any, ...]]
) -> str | None:
    """Give a sequence to both sides; tell the first thing on which they differ."""
    for number, (operation, *arguments) in enumerate(sequence):
        at = f"step {number}, {operation.__name__}{tuple(arguments)}"
        answers = [operation(side, *arguments) for side in (ledger, server)]
        looks = [look(side) for side in (ledger, server)]
        for mine, theirs in (map(comparable, answers), map(comparable, looks)):
            close = all(abs(a - b) < SLACK for a, b in zip(mine[1], theirs[1], strict=False))
            if mine[0] != theirs[0] or not close:
                return f"{at}: the ledger says {mine}, the server {theirs}"
        if not all(map(told_of_a_holder, answers, looks)):
            return f"{at}: told of nobody who holds: {answers}"
        if ledger.queue("k") != server.queue("k"):
            return f"{at}: queues {ledger.queue('k')} and {server.queue('k')}"
    if ledger.wakes() != server.wakes():
        return f"wakes {ledger.records.wakes} and {server.heard}"
    return None


@pytest.fixture(scope="module")
def peek(redis_server: Any) -> Iterator[redis.Redis]:
    with redis.Redis(port=redis_server.port) as peek:
        yield peek


@pytest.fixture(scope="module")
def client(redis_server: Any) -> Iterator[interlock.Client]:
    with interlock.connect(redis_server.url) as client:
        yield client


def test_scripts_and_ledger_agree_on_any_sequence_of_operations(
    client: interlock.Client, peek: redis.Redis
) -> None:
    woken = 0

    @SETTINGS
    @given(some_ears, st.lists(operations, min_size=15, max_size=40))
    def agree(clients: tuple[str, ...], rest: list[tuple[Any, ...]]) -> None:
        ledger, server = LedgerSide(), ServerSide(client, peek)
        began = now()
        try:
            problem = disagreement(ledger, server, [*((listen, each) for each in clients), *rest])
        finally:
            server.subscriber.close()
        nonlocal woken
        woken += bool(ledger.records.wakes)
        assume(now() - began < SLACK or problem is None)
        assert problem is None, f"INTERLOCK_SEED={SEED or 'not set'}: {problem}"

    (agree if SEED is None else seed(int(SEED))(agree))()

    assert woken > 10


class Rude(HeardRecords):
    """Records in whose queue nobody stands before anybody who asks."""

    def enqueue(self, name: str, owner: str, weight: int) -> None:
        self.queues[name] = {owner: weight, **self.queues.get(name, {})}


def test_a_difference_would_be_noticed(client: interlock.Client, peek: redis.Redis) -> None:
    server = ServerSide(client, peek)
    story: list[tuple[Any, ...]] = [
        *((listen, each) for each in CLIENTS),
        (attempt, 0, 10.0, False),
        (attempt, 3, 10.0, True),
        (attempt, 1, 10.0, True),
    ]
    problem = disagreement(LedgerSide(Rude), server, story)
    server.subscriber.close()

    assert problem is not None and problem.startswith("step 4")
