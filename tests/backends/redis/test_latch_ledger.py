"""The scripts of latches and the ledger are the same operations, said in two languages.

Any sequence of operations is given to both, and every answer must agree.  Who waits is not
compared: the ledger remembers it, Redisson's channel tells everybody.
The runs are the same each time; set `INTERLOCK_SEED` to any whole number to draw others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from interlock.backends.memory.link import MemoryLink
from interlock.backends.memory.transport.memory_store import MemoryStore
from interlock.backends.redis import RedisBackend, UrlFactory, keys, read_url
from interlock.backends.redis.latches import RedisLatches
from interlock.drive import now, run
from interlock.ledger import LedgerLatches
from interlock.model import Busy, LockInfo
from interlock.spi import LatchStore, Link

pytestmark = pytest.mark.server

SEED = os.environ.get("INTERLOCK_SEED")

SETTINGS = settings(
    max_examples=100,
    deadline=None,
    database=None,
    derandomize=SEED is None,
    suppress_health_check=[HealthCheck.too_slow],
)

CLIENT = "11111111-1111-8111-8111-000000000000"


class Side:
    """A store and the way to it."""

    def __init__(self, store: LatchStore, link: Link) -> None:
        self.store, self.link = store, link

    def set_count(self, count: int) -> Any:
        return run(self.store.set_count("k", count, now() + 5), self.link)

    def count_down(self, which: int) -> Any:
        return run(self.store.count_down("k", f"{CLIENT}:{which}9", now() + 5), self.link)

    def attempt(self, which: int, waits: bool) -> Any:
        owner = f"{CLIENT}:10{which}9"
        answer = run(self.store.attempt("k", owner, 9.0, waits, now() + 5), self.link)
        return "busy" if isinstance(answer, Busy) else answer > 0

    def look(self) -> Any:
        info = run(self.store.look("k", now() + 5), self.link)
        return info and (info.kind, info.count, info.holders)

    def forget(self, which: int) -> None:
        """Let a tombstone end."""
        raise NotImplementedError


class Ledger(Side):
    def __init__(self) -> None:
        self.memory = MemoryStore(now)
        super().__init__(LedgerLatches("ledger"), MemoryLink(self.memory))

    def forget(self, which: int) -> None:
        self.memory.records.tombs.pop(f"{CLIENT}:{which}9", None)


class Server(Side):
    def __init__(self, link: Link, peek: redis.Redis) -> None:
        super().__init__(RedisLatches("server"), link)
        self.peek = peek
        peek.flushall()

    def forget(self, which: int) -> None:
        self.peek.delete(keys.tomb_key("k", f"{CLIENT}:{which}9"))


some_owner = st.integers(0, 4)
operations = st.one_of(
    st.tuples(st.just("set_count"), st.integers(1, 3)),
    st.tuples(st.just("count_down"), some_owner),
    st.tuples(st.just("count_down"), some_owner),
    st.tuples(st.just("attempt"), some_owner, st.booleans()),
    st.tuples(st.just("forget"), some_owner),
)


@pytest.fixture(scope="module")
def link(redis_server: Any) -> Iterator[Link]:
    link = RedisBackend(UrlFactory(read_url(redis_server.url))).link()
    yield link
    link.close()


@pytest.fixture(scope="module")
def peek(redis_server: Any) -> Iterator[redis.Redis]:
    with redis.Redis(port=redis_server.port) as peek:
        yield peek


def test_scripts_and_ledger_agree_on_any_sequence_of_operations(
    link: Link, peek: redis.Redis
) -> None:
    opened = 0

    @SETTINGS
    @given(st.lists(operations, min_size=15, max_size=40))
    def agree(sequence: list[tuple[Any, ...]]) -> None:
        nonlocal opened
        ledger, server = Ledger(), Server(link, peek)
        for verb, *arguments in sequence:
            answers = [getattr(side, verb)(*arguments) for side in (ledger, server)]
            assert answers[0] == answers[1], (verb, arguments)
            assert ledger.look() == server.look(), (verb, arguments)
            opened += verb == "count_down" and ledger.look() is None

    (agree if SEED is None else seed(int(SEED))(agree))()

    assert opened > 10


def test_what_the_two_show_is_more_than_nothing(link: Link, peek: redis.Redis) -> None:
    server = Server(link, peek)
    server.set_count(2)

    assert server.look() == ("latch", 2, ())
    assert isinstance(run(server.store.look("k", now() + 5), link), LockInfo)
