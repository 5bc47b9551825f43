"""The Lua scripts and the ledger are the same operations, said in two languages.

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
from interlock.drive import now
from interlock.ledger import LedgerLocks, OtherKind
from interlock.model import Busy, LockInfo
from interlock.spi import LockStore

from .sides import HeardRecords, Ledger, Server, Side, said

pytestmark = pytest.mark.server

SEED = os.environ.get("INTERLOCK_SEED")

SETTINGS = settings(
    max_examples=100,
    deadline=None,
    database=None,
    derandomize=SEED is None,
    suppress_health_check=[HealthCheck.too_slow],
)

CLIENTS = (
    "11111111-1111-8111-8111-111111111111",
    "22222222-2222-8222-8222-222222222222",
)
NAMES = ("alpha", "beta")
#: Three owners for each name, of two clients.
OWNERS = {
    name: (f"{CLIENTS[0]}:{at}1", f"{CLIENTS[0]}:{at}2", f"{CLIENTS[1]}:{at}3")
    for at, name in enumerate(NAMES)
}

#: Seconds by which the two may differ, and that a sequence may take: less than it takes any
#: lease in these tests to end by itself, a provisional one included.
SLACK = 1.0


def owner_of(side: Side, name: str, which: int) -> str:
    """One of three owners, whose number tells the kind."""
    return OWNERS[name][which] + side.store.kind_code


def attempt(side: Side, name: str, which: int, lease: float, waits: bool) -> Any:
    owner = owner_of(side, name, which)
    return said(side, side.store.attempt(name, owner, lease, waits, now() + 5))


def release(side: Side, name: str, which: int) -> Any:
    return said(side, side.store.release(name, owner_of(side, name, which), now() + 5))


def withdraw(side: Side, name: str, which: int) -> Any:
    return said(side, side.store.withdraw(name, owner_of(side, name, which), now() + 5))


def renew(side: Side, lease: float, which: list[tuple[str, int]]) -> Any:
    holds = [(name, owner_of(side, name, each)) for name, each in which]
    return said(side, side.store.renew(holds, lease, now() + 5))


def look(side: Side, name: str) -> Any:
    return said(side, side.store.look(name, now() + 5))


def listen(side: Side, client: str) -> Any:
    side.listen(client)


def leave(side: Side, client: str) -> Any:
    side.leave(client)


def lapse(side: Side, name: str) -> Any:
    """Let the lease of a name end."""
    side.lapse(name)


def exhume(side: Side, name: str, which: int) -> Any:
    """Let a tombstone end."""
    side.exhume(name, owner_of(side, name, which))


#: Mostly the first name, so that owners meet.
some_name, some_owner = st.sampled_from([*NAMES[:1] * 3, *NAMES]), st.integers(0, 2)
some_lease, some_client = st.sampled_from([10.0, 30.0]), st.sampled_from(CLIENTS)
some_holds = st.lists(st.tuples(some_name, some_owner), min_size=1, max_size=3)

some_waiting = st.sampled_from([True, True, False])
attempts = st.tuples(st.just(attempt), some_name, some_owner, some_lease, some_waiting)
#: Each kind of operation, and how many of twenty-five it makes up.
SHARES = [
    (12, attempts),
    (4, st.tuples(st.just(release), some_name, some_owner)),
    (1, st.tuples(st.just(withdraw), some_name, some_owner)),
    (2, st.tuples(st.just(renew), some_lease, some_holds)),
    (1, st.tuples(st.just(look), some_name)),
    (1, st.tuples(st.just(listen), some_client)),
    (1, st.tuples(st.just(leave), some_client)),
    (2, st.tuples(st.just(lapse), some_name)),
    (1, st.tuples(st.just(exhume), some_name, some_owner)),
]
kinds: list[st.SearchStrategy[Any]] = [kind for share, kind in SHARES for _ in range(share)]
operations = st.sampled_from(kinds).flatmap(lambda kind: kind)

#: Who listens from the beginning; mostly both.
some_ears = st.sampled_from([(), CLIENTS[:1], CLIENTS, CLIENTS])


def comparable(answer: Any) -> tuple[Any, float]:
    """What must be equal in an answer, and the time in it, which must be close."""
    if isinstance(answer, Busy):
        return ("busy", answer.holder), answer.left or 0.0
    if isinstance(answer, LockInfo):
        facts = ("held", answer.name, answer.kind, answer.holders[0].owner, answer.waiters)
        return facts, answer.expires_in or 0.0
    if isinstance(answer, (list, tuple)):
        return list(answer), 0.0
    return answer, 0.0


def disagreement(ledger: Ledger, server: Server, sequence: list[tuple[Any, ...]]) -> str | None:
    """Give a sequence to both sides; tell the first thing on which they differ."""
    for number, (operation, *arguments) in enumerate(sequence):
        (mine, left), (theirs, other) = (
            comparable(operation(side, *arguments)) for side in (ledger, server)
        )
        at = f"step {number}, {operation.__name__}{tuple(arguments)}"
        if mine != theirs or abs(left - other) > SLACK:
            return f"{at}: the ledger says {mine} {left}, the server {theirs} {other}"
        for name in NAMES:
            if ledger.queue(name) != server.queue(name):
                return f"{at}: queues {ledger.queue(name)} and {server.queue(name)}"
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


@pytest.mark.parametrize("kind", ["lock", "mutex"])
def test_scripts_and_ledger_agree_on_any_sequence_of_operations(
    kind: str, client: interlock.Client, peek: redis.Redis
) -> None:
    woken = 0

    @SETTINGS
    @given(some_ears, st.lists(operations, min_size=15, max_size=40))
    def agree(clients: tuple[str, ...], rest: list[tuple[Any, ...]]) -> None:
        ledger, server = Ledger(kind), Server(kind, client, peek)
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


#: One whole hand-over, spelled out, so that it is certain to be compared.
STORY: list[tuple[Any, ...]] = [
    (listen, CLIENTS[0]),
    (listen, CLIENTS[1]),
    (attempt, "alpha", 0, 10.0, False),
    (attempt, "alpha", 1, 10.0, True),
    (attempt, "alpha", 2, 10.0, True),
    (look, "alpha"),
    (leave, CLIENTS[0]),
    (release, "alpha", 0),
    (look, "alpha"),
    (attempt, "alpha", 2, 30.0, True),
    (withdraw, "alpha", 2),
    (attempt, "alpha", 2, 10.0, False),
]


@pytest.mark.parametrize("kind", ["lock", "mutex"])
def test_hand_over_is_the_same_in_both(
    kind: str, client: interlock.Client, peek: redis.Redis
) -> None:
    ledger, server = Ledger(kind), Server(kind, client, peek)

    problem = disagreement(ledger, server, STORY)
    server.subscriber.close()

    assert problem is None
    assert ledger.records.wakes == [owner_of(ledger, "alpha", 2)]


class Stack(HeardRecords):
    """Records that serve the last one first."""

    def enqueue(self, name: str, owner: str, weight: int) -> None:
        self.queues[name] = {owner: weight, **self.queues.get(name, {})}


def test_a_difference_would_be_noticed(client: interlock.Client, peek: redis.Redis) -> None:
    server = Server("lock", client, peek)

    problem = disagreement(Ledger("lock", Stack), server, STORY)
    server.subscriber.close()

    assert problem is not None and "queues" in problem


@pytest.mark.parametrize(("kind", "other"), [("lock", "mutex"), ("mutex", "lock")])
def test_a_name_of_the_other_kind_is_refused_by_both(
    kind: str, other: str, client: interlock.Client, peek: redis.Redis
) -> None:
    ledger, server = Ledger(kind), Server(kind, client, peek)
    stores: list[LockStore] = [
        LedgerLocks(other, True, "ledger"),
        Server(other, client, peek).store,
    ]
    sides: list[Side] = [ledger, server]
    for side, store in zip(sides, stores, strict=True):
        side.run(store.attempt("alpha", OWNERS["alpha"][0], 10.0, False, now() + 5))

    answers = [attempt(side, "alpha", 1, 10.0, True) for side in sides]

    assert answers == [OtherKind] * 2
    assert ledger.queue("alpha") == server.queue("alpha") == []


@pytest.mark.parametrize("kind", ["lock", "mutex"])
def test_tokens_grow_in_both(kind: str, client: interlock.Client, peek: redis.Redis) -> None:
    sides: list[Side] = [Ledger(kind), Server(kind, client, peek)]
    for side in sides:
        owner = OWNERS["alpha"][0]
        question = [side.run(side.store.attempt("alpha", owner, 10.0, False, now() + 5))]
        question += [side.run(side.store.attempt("alpha", owner, 10.0, False, now() + 5))]

        assert question[0] < question[1]
