"""The scripts of barriers and the ledger are the same operations, in two languages.

Any sequence of operations is given to both; every answer, wake, queue and party must agree.
The runs are the same each time; set `INTERLOCK_SEED` to any whole number to draw others.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

import interlock
from interlock.backends.redis.barriers import RedisBarriers
from interlock.backends.redis.keys import done_key
from interlock.drive import now
from interlock.errors import StoreError
from interlock.ledger import LedgerBarriers
from interlock.model import KIND_CODES, Busy, LockInfo
from interlock.spi import BarrierStore

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

CLIENTS = tuple(f"{each}1111111-1111-8111-8111-000000000000" for each in "12")

#: Five parties of two clients.
OWNERS = tuple(f"{CLIENTS[which % 2]}:{which + 1}{KIND_CODES['barrier']}" for which in range(5))

#: Seconds by which the two may differ, and that a sequence may take.
SLACK = 1.0


class LedgerSide(Ledger):
    """The ledger, as one of the two sides."""

    def __init__(self, records: type[HeardRecords] = HeardRecords) -> None:
        super().__init__("lock", records)

    def barriers(self, parties: int) -> BarrierStore:
        return LedgerBarriers(parties, "ledger")

    def end(self, owner: str) -> None:
        held = self.records.holds.get("k", {})
        if owner in held:
            held[owner] = (*held[owner][:2], 0.0)


class ServerSide(Server):
    """The scripts on a real server, as the other side."""

    def __init__(self, client: interlock.Client, peek: redis.Redis) -> None:
        super().__init__("lock", client, peek)

    def barriers(self, parties: int) -> BarrierStore:
        return RedisBarriers(parties, "server")

    def end(self, owner: str) -> None:
        for place in ("k", done_key("k")):
            self.peek.zadd(place, {owner: 1}, xx=True)

    def lapse(self, name: str) -> None:
        self.peek.delete(name, done_key(name))


Side = LedgerSide | ServerSide


def enter(side: Side, which: int, lease: float, waits: bool, parties: int) -> Any:
    store = side.barriers(parties)
    return said(side, store.attempt("k", OWNERS[which], lease, waits, now() + 5))


def depart(side: Side, which: int, lease: float) -> Any:
    store = side.barriers(2).leaving
    try:
        return side.run(store.attempt("k", OWNERS[which], lease, True, now() + 5))
    except StoreError as error:
        return type(error)


def release(side: Side, which: int) -> Any:
    return said(side, side.barriers(2).release("k", OWNERS[which], now() + 5))


def withdraw(side: Side, which: int) -> Any:
    return said(side, side.barriers(2).withdraw("k", OWNERS[which], now() + 5))


def renew(side: Side, which: list[int], lease: float) -> Any:
    holds = [("k", OWNERS[each]) for each in which]
    return said(side, side.barriers(2).renew(holds, lease, now() + 5))


def look(side: Side) -> Any:
    return said(side, side.barriers(2).look("k", now() + 5))


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
some_parties = st.sampled_from([2, 2, 2, 2, 3])
#: Each kind of operation, and how many of thirty it makes up.
SHARES = [
    (13, st.tuples(st.just(enter), some_owner, some_lease, some_waiting, some_parties)),
    (6, st.tuples(st.just(depart), some_owner, some_lease)),
    (2, st.tuples(st.just(release), some_owner)),
    (2, st.tuples(st.just(withdraw), some_owner)),
    (1, st.tuples(st.just(renew), some_owners, some_lease)),
    (1, st.tuples(st.just(listen), some_client)),
    (1, st.tuples(st.just(leave), some_client)),
    (2, st.tuples(st.just(end), some_owner)),
    (1, st.tuples(st.just(lapse))),
    (1, st.tuples(st.just(exhume), some_owner)),
]
kinds: list[st.SearchStrategy[Any]] = [kind for share, kind in SHARES for _ in range(share)]
operations = st.sampled_from(kinds).flatmap(lambda kind: kind)

#: Who listens from the beginning; mostly both.
some_ears = st.sampled_from([(), CLIENTS[:1], CLIENTS, CLIENTS, CLIENTS])


def comparable(answer: Any) -> tuple[Any, list[float]]:
    """What must be equal in an answer, and the times in it, which must be close."""
    if isinstance(answer, Busy):
        return ("busy", answer.holder is None), [answer.left or 0.0]
    if isinstance(answer, LockInfo):
        holders = sorted((each.owner, each.mode, each.expires_in or 0) for each in answer.holders)
        facts = (answer.name, answer.kind, [each[:2] for each in holders], answer.waiters)
        return (facts, answer.parties), [answer.expires_in or 0.0, *(each[2] for each in holders)]
    return list(answer) if isinstance(answer, (list, tuple)) else answer, []


def told_of_one_inside(answer: Any, info: LockInfo | None) -> bool:
    """Whether a party that has to wait for others was told of one of them."""
    if not isinstance(answer, Busy) or answer.holder is None:
        return True
    inside = {each.owner for each in info.holders if each.mode == "inside"} if info else {}
    return answer.holder in inside


def disagreement(
    ledger: LedgerSide,
    server: ServerSide,
    sequence: list[tuple[Any, ...]],
    seen: Counter[str],
) -> str | None:
    """Give a sequence to both sides; tell the first thing on which they differ."""
    for number, (operation, *arguments) in enumerate(sequence):
        at = f"step {number}, {operation.__name__}{tuple(arguments)}"
        answers = [operation(side, *arguments) for side in (ledger, server)]
        seen[f"{operation.__name__} {comparable(answers[0])[0]}"] += 1
        looks = [look(side) for side in (ledger, server)]
        for mine, theirs in (map(comparable, answers), map(comparable, looks)):
            close = all(abs(a - b) < SLACK for a, b in zip(mine[1], theirs[1], strict=False))
            if mine[0] != theirs[0] or not close:
                return f"{at}: the ledger says {mine}, the server {theirs}"
        if not all(map(told_of_one_inside, answers, looks)):
            return f"{at}: told of a party that is not inside: {answers}"
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
    seen: Counter[str] = Counter()

    @SETTINGS
    @given(some_ears, st.lists(operations, min_size=15, max_size=40))
    def agree(clients: tuple[str, ...], rest: list[tuple[Any, ...]]) -> None:
        ledger, server = LedgerSide(), ServerSide(client, peek)
        began, story = now(), [*((listen, each) for each in clients), *rest]
        try:
            problem = disagreement(ledger, server, story, seen)
        finally:
            server.subscriber.close()
        assume(now() - began < SLACK or problem is None)
        assert problem is None, f"INTERLOCK_SEED={SEED or 'not set'}: {problem}"

    (agree if SEED is None else seed(int(SEED))(agree))()

    # Parties were let in, and waited; left as the last one, with others inside, and too late.
    for what in ("enter granted", "enter ('busy', True)", "enter ('busy', False)"):
        assert seen[what] > 20
    for what in ("depart 1", "depart ('busy', False)", "depart 0"):
        assert seen[what] > 20


class Hasty(HeardRecords):
    """Records that think everybody hears."""

    def wake(self, name: str, owner: str) -> bool:
        super().wake(name, owner)
        return True


def test_a_difference_would_be_noticed(client: interlock.Client, peek: redis.Redis) -> None:
    server = ServerSide(client, peek)
    story: list[tuple[Any, ...]] = [
        (listen, CLIENTS[0]),
        (enter, 0, 10.0, True, 3),
        (enter, 1, 10.0, True, 3),
        (enter, 2, 10.0, True, 3),
    ]
    problem = disagreement(LedgerSide(Hasty), server, story, Counter())
    server.subscriber.close()

    assert problem is not None and problem.startswith("step 3")
