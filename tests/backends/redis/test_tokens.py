"""Fencing tokens grow, whatever the server forgets."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.servers import RedisServer

from ...support.worlds import World
from .watching import litter, raw

pytestmark = pytest.mark.server


#: Where each kind keeps its last token, of the name "k".
COUNTERS = {"fenced_lock": "redisson_lock_token:{k}"}


@pytest.fixture(params=["lock", "mutex", "fenced_lock"])
def kind(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def token_of(world: World, client: Any, kind: str, name: str = "k") -> int:
    hold = world.do(getattr(client, kind)(name).acquire)
    world.do(hold.release)
    token: int = hold.token
    return token


def test_tokens_grow_over_everything_a_server_can_forget(
    world: World, own_redis: RedisServer, kind: str
) -> None:
    client = world.connect(own_redis.url)
    counter = COUNTERS.get(kind, "interlock:tokens")
    tokens = [token_of(world, client, kind)]
    with raw(own_redis.port) as peek:
        peek.flushall()
        tokens.append(token_of(world, client, kind))
        peek.delete(counter)
        tokens.append(token_of(world, client, kind))
        # The counter of an old backup; a row of Java's that began at 1 goes on by ones.
        peek.set(counter, str(tokens[0]) if kind in COUNTERS else "5")
        tokens.append(token_of(world, client, kind))
    own_redis.kill()
    own_redis.start()
    tokens.append(token_of(world, client, kind))
    assert tokens == sorted(set(tokens))


def test_tokens_grow_over_a_restart_that_forgot_the_last_grants(world: World, kind: str) -> None:
    """As `appendfsync everysec` may: what was written since the last save is gone."""
    with RedisServer() as server:
        client = world.connect(server.url)
        tokens = [token_of(world, client, kind)]
        with raw(server.port) as peek:
            peek.save()
        tokens += [token_of(world, client, kind) for _ in range(3)]
        server.kill()
        server.start()
        tokens.append(token_of(world, client, kind))
    assert tokens == sorted(set(tokens))


def test_tokens_grow_though_the_servers_clock_steps_back(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    ahead = int((time.time() + 3600) * 1e6)  # as if the clock had been an hour ahead
    peek.set(COUNTERS.get(kind, "interlock:tokens"), str(ahead))
    client = world.connect(redis_url)
    tokens = [token_of(world, client, kind) for _ in range(3)]
    assert tokens == [ahead + 1, ahead + 2, ahead + 3]


def test_tokens_need_no_key_for_each_name(world: World, redis_url: str, peek: Any) -> None:
    client = world.connect(redis_url)
    tokens = [token_of(world, client, "lock", f"name-{i}") for i in range(100)]
    assert tokens == sorted(set(tokens))
    assert litter(peek) == set()
    assert peek.get("interlock:tokens") == str(tokens[-1])
