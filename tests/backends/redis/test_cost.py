"""What locks cost the server: commands, connections, channels."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from interlock import aio
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World, nested
from .watching import Monitor

pytestmark = pytest.mark.server


def settled(world: World, url: str, peek: Any, kind: str = "lock") -> Any:
    """A client that has introduced itself and whose scripts are known."""
    client = world.connect(url)
    world.do(world.do(getattr(client, kind)("warm").acquire).release)
    eventually(lambda: peek.exists(f"interlock:client:{client._session.identity}"))
    return client


def test_uncontended_pair_is_two_commands(
    world: World, redis_url: str, peek: Any, redis_server: RedisServer, kind: str
) -> None:
    client = settled(world, redis_url, peek, kind)
    with Monitor(redis_server.port) as monitor:
        for i in range(50):
            world.do(world.do(getattr(client, kind)(f"k{i}").acquire).release)
        sent = [seen.verb for seen in monitor.sent()]
    assert sent == ["EVALSHA"] * 100


def test_reentering_costs_the_server_nothing(
    world: World, redis_url: str, peek: Any, redis_server: RedisServer
) -> None:
    lock = settled(world, redis_url, peek).lock("k")
    with Monitor(redis_server.port) as monitor:
        world.do(lambda: nested(world, lock))
        assert [seen.verb for seen in monitor.sent()] == ["EVALSHA"] * 2


def test_waiter_asks_at_most_once_a_second(
    world: World, redis_url: str, peek: Any, redis_server: RedisServer
) -> None:
    hold = world.do(settled(world, redis_url, peek).lock("k").acquire)
    client = settled(world, redis_url, peek)
    waiting = world.start(client.lock("k").acquire)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    with Monitor(redis_server.port) as monitor:
        watched = 2.5
        time.sleep(watched)
        sent = [seen.verb for seen in monitor.sent() if seen.verb != "ZCARD"]
    assert 1 <= sent.count("EVALSHA") <= watched
    assert set(sent) <= {"EVALSHA", "PING"}
    world.do(hold.release)
    world.do(waiting.result(5).release)


def test_handover_costs_three_commands_beyond_the_pair(
    world: World, redis_url: str, peek: Any, redis_server: RedisServer
) -> None:
    """A waiter asks, asks again once it listens, and claims; then it releases."""
    hold = world.do(settled(world, redis_url, peek).lock("k").acquire)
    client = settled(world, redis_url, peek)
    with Monitor(redis_server.port) as monitor:
        waiting = world.start(client.lock("k").acquire)
        eventually(lambda: any(seen.verb == "ZADD" for seen in monitor.commands()))
        world.do(hold.release)
        world.do(waiting.result(5).release)
        sent = [seen.verb for seen in monitor.sent()]
    assert sent.count("EVALSHA") == 5
    assert sent.count("SUBSCRIBE") == 1


TASKS = 1000


async def crowd(url: str, lock_name: str) -> None:
    """A thousand tasks, one lock, one client."""
    async with aio.connect(url) as client:

        async def one() -> None:
            async with client.lock(lock_name):
                pass

        async with asyncio.TaskGroup() as group:
            for _ in range(TASKS):
                group.create_task(one())


def test_thousand_tasks_on_one_lock_cost_two_commands_each_and_one_connection(
    redis_url: str, redis_server: RedisServer
) -> None:
    with Monitor(redis_server.port) as monitor:
        asyncio.run(crowd(redis_url, "k"))
        sent = [seen for seen in monitor.sent() if seen.verb in ("EVALSHA", "EVAL", "SUBSCRIBE")]
    assert 2 * TASKS <= len(sent) <= 2.2 * TASKS
    assert len({seen.client for seen in sent}) == 1


@pytest.mark.parametrize(("protocol", "connections"), [(2, 2), (3, 1)])
def test_asyncio_clients_need_one_connection_and_a_second_for_wakes_under_resp2(
    redis_url: str, peek: Any, protocol: int, connections: int
) -> None:
    before = len(peek.client_list())

    async def contend() -> int:
        url = f"{redis_url}?protocol={protocol}"
        async with aio.connect(url) as first, aio.connect(url) as second:
            async with asyncio.TaskGroup() as group:
                for client in (first, second) * 20:
                    group.create_task(take(client))
            return len(peek.client_list()) - before

    async def take(client: Any) -> None:
        async with client.lock("k"):
            await asyncio.sleep(0)

    assert asyncio.run(contend()) == 2 * connections
