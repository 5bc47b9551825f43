"""Fencing tokens grow, whatever the server forgets."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interlock.testing.servers import RedisServer

from .watching import litter, raw
from .worlds import World

pytestmark = pytest.mark.server


def token_of(world: World, client: Any, kind: str, name: str = "k") -> int:
    hold = world.do(getattr(client, kind)(name).acquire)
    world.do(hold.release)
    token: int = hold.token
    return token


def test_tokens_grow_over_everything_a_server_can_forget(
    world: World, own_redis: RedisServer, kind: str
) -> None:
    client = world.connect(own_redis.url)
    tokens = [token_of(world, client, kind)]
    with raw(own_redis.port) as peek:
        peek.flushall()
        tokens.append(token_of(world, client, kind))
        peek.delete("interlock:tokens")
        tokens.append(token_of(world, client, kind))
        peek.set("interlock:tokens", "5")  # the counter of an old backup
        tokens.append(token_of(world, client, kind))
    own_redis.kill()
    own_redis.start()
    tokens.append(token_of(world, client, kind))
    assert tokens == sorted(set(tokens))


def test_tokens_grow_though_the_servers_clock_steps_back(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    ahead = int((time.time() + 3600) * 1e6)
    peek.set("interlock:tokens", str(ahead))  # as if the clock had been an hour ahead
    client = world.connect(redis_url)
    tokens = [token_of(world, client, kind) for _ in range(3)]
    assert tokens == [ahead + 1, ahead + 2, ahead + 3]


def test_tokens_need_no_key_for_each_name(world: World, redis_url: str, peek: Any) -> None:
    client = world.connect(redis_url)
    tokens = [token_of(world, client, "lock", f"name-{i}") for i in range(100)]
    assert tokens == sorted(set(tokens))
    assert litter(peek) == set()
    assert peek.get("interlock:tokens") == str(tokens[-1])
