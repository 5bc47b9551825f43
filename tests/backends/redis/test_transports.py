"""Ways to a server: sockets, databases, users, passwords, protocols, borrowed clients."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio

import interlock
from interlock import StoreMisconfigured, StoreUnavailable, UsageError, aio
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World, check_works
from .watching import raw

pytestmark = pytest.mark.server


def test_unix_socket(world: World, tmp_path: Path) -> None:
    path = str(tmp_path / "r.sock")
    with RedisServer("--unixsocket", path, "--requirepass", "pw"):
        check_works(world, lambda: world.connect(f"unix://:pw@{path}?db=3"))
        with redis.Redis(unix_socket_path=path, password="pw", db=3) as peek:
            assert peek.exists("interlock:tokens")


def test_databases_are_worlds_apart(world: World, redis_url: str, redis_server: Any) -> None:
    first, second = world.connect(f"{redis_url}/1"), world.connect(f"{redis_url}?db=2")
    one, two = world.do(first.lock("k").acquire), world.do(second.lock("k").acquire)
    for db, hold in ((1, one), (2, two)):
        with raw(redis_server.port, db=db) as peek:
            assert peek.hgetall("k") == {hold.owner: "1"}
    world.do(one.release)
    world.do(two.release)
    check_works(world, lambda: world.connect(f"{redis_url}/5"))


def test_database_that_is_none_is_said_once(world: World, redis_url: str) -> None:
    client = world.connect(f"{redis_url}/4000")
    with pytest.raises(StoreMisconfigured, match="DB index is out of range"):
        world.do(client.lock("k").acquire)


@pytest.mark.parametrize("protocol", [2, 3])
def test_both_protocols(world: World, redis_url: str, protocol: int) -> None:
    check_works(world, lambda: world.connect(f"{redis_url}?protocol={protocol}"))


def test_client_name_is_shown_to_operators(world: World, redis_url: str, peek: Any) -> None:
    client = world.connect(f"{redis_url}?client_name=billing")
    world.do(client.lock("k").acquire)
    assert any(each["name"] == "billing" for each in peek.client_list())


# --- users and passwords -------------------------------------------------------------------


def accounts(server: RedisServer) -> str:
    """Make users: one with a password, one that needs none."""
    with raw(server.port, password="pw") as admin:
        everything = ["on", "~*", "&*", "+@all"]
        admin.execute_command("ACL", "SETUSER", "alice", *everything, ">wonder/land")
        admin.execute_command("ACL", "SETUSER", "nobody", *everything, "nopass")
    return f"127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def guarded() -> Any:
    """A server with passwords."""
    with RedisServer("--requirepass", "pw") as server:
        accounts(server)
        yield server


@pytest.mark.parametrize("user", [":pw", "default:pw", "alice:wonder%2Fland", "nobody:", "nobody"])
def test_users_and_passwords(world: World, guarded: RedisServer, user: str) -> None:
    check_works(world, lambda: world.connect(f"redis://{user}@127.0.0.1:{guarded.port}"))


def test_password_is_passed_apart_from_the_url(world: World, guarded: RedisServer) -> None:
    options = {"username": "alice", "password": "wonder/land"}
    check_works(world, lambda: world.connect(guarded.url, **options))


@pytest.mark.parametrize("user", [":wrong@", "alice:wrong@", "nosuch:pw@", ""])
def test_wrong_password_is_one_clear_error_and_no_storm(
    world: World, guarded: RedisServer, user: str
) -> None:
    with raw(guarded.port, password="pw") as admin:
        client = world.connect(f"redis://{user}127.0.0.1:{guarded.port}")
        before = admin.info("stats")["total_connections_received"]
        with pytest.raises(StoreMisconfigured, match="password"):
            world.do(client.lock("k").acquire)
        after = admin.info("stats")["total_connections_received"]
    assert after - before == 1


def test_password_function_is_asked_at_each_connection(
    world: World, own_redis: RedisServer
) -> None:
    with raw(own_redis.port) as admin:
        admin.config_set("requirepass", "first")
        passwords = ["first"]
        client = world.connect(own_redis.url, password=lambda: passwords[-1])
        hold = world.do(client.lock("k", lease=0.9).acquire)
        admin.config_set("requirepass", "second")
        passwords.append("second")
        admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        first = hold._lease.until
        eventually(lambda: hold._lease.until > first)
        assert not hold.lost
        world.do(hold.release)


def test_password_function_that_fails_is_said(world: World, own_redis: RedisServer) -> None:
    client = world.connect(own_redis.url, password=lambda: b"bytes")
    with pytest.raises(StoreMisconfigured, match=r"password function.*did not return a str"):
        world.do(client.lock("k").acquire)
    client = world.connect(own_redis.url, password=lambda: 1 / 0)
    with pytest.raises(StoreUnavailable, match=r"password function.*raised ZeroDivisionError"):
        world.do(client.lock("k", timeout=0.2).acquire)


# --- borrowed clients -------------------------------------------------------------------------


def a_connection(pool: Any) -> Any:
    """One from redis-py's own pool, which wanted the name of a command until 5.3."""
    parameter = inspect.signature(pool.get_connection).parameters.get("command_name")
    if parameter is not None and parameter.default is parameter.empty:
        return pool.get_connection("PING")
    return pool.get_connection()


@pytest.mark.parametrize("options", [{}, {"decode_responses": True, "db": 2, "protocol": 2}])
def test_borrowed_blocking_client_is_used_and_never_closed(
    redis_server: RedisServer, redis_url: str, options: dict[str, Any]
) -> None:
    with redis.Redis(port=redis_server.port, **options) as theirs:
        theirs.ping()
        mine = a_connection(theirs.connection_pool)
        with interlock.connect(theirs) as client, client.lock("k"):
            assert theirs.exists("k")
        assert not theirs.exists("k")
        mine.send_command("PING")
        assert mine.read_response() in (b"PONG", "PONG")
        theirs.connection_pool.release(mine)


@pytest.mark.parametrize("options", [{}, {"decode_responses": True, "db": 2, "protocol": 2}])
def test_borrowed_asyncio_client_is_used_and_never_closed(
    redis_server: RedisServer, redis_url: str, options: dict[str, Any]
) -> None:
    async def use() -> None:
        async with redis.asyncio.Redis(port=redis_server.port, **options) as theirs:
            async with aio.connect(theirs) as client, client.lock("k"):
                assert await theirs.exists("k")
            assert not await theirs.exists("k")

    asyncio.run(use())


def test_borrowed_client_with_a_password_and_no_timeouts(
    world: World, guarded: RedisServer
) -> None:
    kind: Any = redis.Redis if world.name == "threads" else redis.asyncio.Redis
    theirs = kind(port=guarded.port, username="alice", password="wonder/land", protocol=3)
    check_works(world, lambda: world.connect(theirs))
    assert world.do(lambda: theirs.ping())
    world.do(theirs.close if world.name == "threads" else lambda: theirs.aclose())


def test_borrowed_client_of_the_other_world_is_refused() -> None:
    blocking, tasks = redis.Redis(), redis.asyncio.Redis()
    with (
        interlock.connect(tasks) as client,
        pytest.raises(UsageError, match=r"aio\.connect"),
    ):
        client.lock("k").acquire()

    async def other_way() -> None:
        async with aio.connect(blocking) as client:
            with pytest.raises(UsageError, match=r"interlock\.connect"):
                await client.lock("k").acquire()

    asyncio.run(other_way())


@pytest.mark.parametrize("thing", [object(), 7, b"redis://h"])
def test_things_that_are_neither_url_nor_client_are_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="redis-py client"):
        interlock.connect(thing)


def test_a_script_that_the_server_forgot_is_taught_once_for_all_that_go_together(
    own_redis: RedisServer,
) -> None:
    with interlock.connect(own_redis.url) as client, raw(own_redis.port) as peek:
        held = client.multilock(*(f"k{number}" for number in range(50))).acquire()
        peek.script_flush()
        peek.config_resetstat()

        held.release()

        calls = {name: each["calls"] for name, each in peek.info("commandstats").items()}
        assert (calls["cmdstat_eval"], calls["cmdstat_evalsha"]) == (1, 50 + 49)
        assert peek.keys("k*") == []
