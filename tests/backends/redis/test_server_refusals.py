"""A server that answers, but with an error: each is survived, or said in one sentence."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis.exceptions

from interlock import AcquireTimeout, OutcomeUnknown, StoreMisconfigured, StoreUnavailable
from interlock.backends.redis.errors import from_reply
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import litter, raw, tombs

pytestmark = pytest.mark.server


@pytest.fixture
def peek(own_redis: RedisServer) -> Iterator[Any]:
    """A plain client of the server that this test may hurt."""
    with raw(own_redis.port) as client:
        yield client


@pytest.fixture
def client(world: World, own_redis: RedisServer) -> Any:
    """A client that has used a lock before."""
    client = world.connect(own_redis.url)
    world.do(world.do(client.lock("known").acquire).release)
    return client


def test_forgotten_scripts_are_taught_again(
    world: World, client: Any, peek: Any, kind: str
) -> None:
    peek.script_flush()
    hold = world.do(getattr(client, kind)("k", lease=0.6).acquire)
    peek.script_flush()
    first = hold._lease.until
    eventually(lambda: hold._lease.until > first)
    peek.script_flush()
    world.do(hold.release)
    assert not peek.exists("k")


def test_loading_server_is_unavailable_and_then_works(
    world: World, client: Any, own_redis: RedisServer, peek: Any
) -> None:
    peek.execute_command("DEBUG", "POPULATE", "4000", "filler", "100")
    peek.save()
    own_redis.terminate()
    # So slow a start that the next question meets it.
    own_redis.options += ("--key-load-delay", "50")
    own_redis.options += ("--loading-process-events-interval-bytes", "1024")
    own_redis.start()
    with pytest.raises(StoreUnavailable, match="loading"):
        world.do(lambda: client.lock("k").acquire(timeout=0))

    eventually(lambda: answers(peek))
    world.do(world.do(client.lock("k").acquire).release)


def answers(client: Any) -> bool:
    try:
        client.get("any")
    except redis.exceptions.ConnectionError:
        return False
    return True


def test_busy_server_is_unavailable_to_a_try_and_survived_by_a_waiter(
    world: World, client: Any, own_redis: RedisServer, peek: Any
) -> None:
    hold = world.do(client.lock("k").acquire)
    waiting = world.start(world.connect(own_redis.url).lock("k").acquire)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    peek.config_set("lua-time-limit", 20)
    with (
        long_script(own_redis, peek),
        pytest.raises(StoreUnavailable, match="busy with a script"),
    ):
        world.do(lambda: client.lock("other").acquire(timeout=0))
    world.do(hold.release)
    world.do(waiting.result(5).release)


@contextlib.contextmanager
def long_script(server: RedisServer, peek: Any) -> Iterator[None]:
    """Keep the server busy with somebody else's script."""
    with raw(server.port, socket_timeout=None) as other:
        script = threading.Thread(target=_run_for_ever, args=(other,))
        script.start()
        try:
            eventually(lambda: is_busy(peek))
            yield
        finally:
            peek.script_kill()
            script.join(5)


def _run_for_ever(client: Any) -> None:
    with contextlib.suppress(redis.exceptions.ResponseError):
        client.eval("while true do end", 0)


def is_busy(client: Any) -> bool:
    try:
        client.get("any")
    except redis.exceptions.ResponseError as error:
        return "BUSY" in str(error)
    return False


def test_replica_refuses_and_nothing_is_left(
    world: World, client: Any, own_redis: RedisServer, peek: Any
) -> None:
    hold = world.do(client.lock("held", lease=30).acquire)
    peek.execute_command("REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(StoreUnavailable, match="read-only replica"):
        world.do(lambda: client.lock("k").acquire(timeout=0))
    with pytest.raises(StoreUnavailable, match="not confirmed"):
        world.do(hold.release)
    peek.execute_command("REPLICAOF", "NO", "ONE")
    eventually(lambda: not peek.exists("held"))  # the keeper pays what is owed
    assert not peek.exists("k")


def test_full_server_refuses_acquires_and_still_takes_locks_back(
    world: World, client: Any, own_redis: RedisServer, peek: Any, kind: str
) -> None:
    hold = world.do(getattr(client, kind)("held").acquire)
    peek.config_set("maxmemory-policy", "noeviction")
    peek.config_set("maxmemory", "1")
    with pytest.raises(StoreUnavailable, match="out of memory"):
        world.do(lambda: getattr(client, kind)("k").acquire(timeout=0))
    world.do(hold.release)
    assert litter(peek) == set()


def test_full_server_still_hands_over_and_lets_waiters_withdraw(
    world: World, client: Any, own_redis: RedisServer, peek: Any, kind: str
) -> None:
    hold = world.do(getattr(client, kind)("k").acquire)
    other = world.connect(own_redis.url)
    first = world.start(getattr(other, kind)("k").acquire)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    third = world.connect(own_redis.url)
    impatient = world.start(lambda: getattr(third, kind)("k").acquire(timeout=0.3))
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 2)
    peek.config_set("maxmemory-policy", "noeviction")
    peek.config_set("maxmemory", "1")
    with pytest.raises(AcquireTimeout):
        impatient.result(5)
    world.do(hold.release)
    peek.config_set("maxmemory", "0")

    world.do(first.result(5).release)
    assert litter(peek) == tombs(peek)


def test_server_that_cannot_save_is_unavailable(
    world: World, client: Any, own_redis: RedisServer, peek: Any
) -> None:
    (own_redis.folder / "dump.rdb").mkdir()  # a folder cannot be written as a file
    peek.config_set("save", "3600 1")
    peek.set("any", "1")
    peek.bgsave()
    eventually(lambda: peek.info("persistence")["rdb_last_bgsave_status"] == "err")
    with pytest.raises(StoreUnavailable, match="cannot save its data"):
        world.do(lambda: client.lock("k").acquire(timeout=0))
    peek.config_set("stop-writes-on-bgsave-error", "no")
    world.do(world.do(client.lock("k").acquire).release)


def test_server_without_room_for_another_client_is_unavailable(
    world: World, own_redis: RedisServer, peek: Any
) -> None:
    peek.config_set("maxclients", 1)
    client = world.connect(own_redis.url)
    with pytest.raises((StoreUnavailable, OutcomeUnknown)):
        world.do(lambda: client.lock("k").acquire(timeout=0))
    peek.config_set("maxclients", 100)
    world.do(world.do(client.lock("k").acquire).release)


@pytest.mark.parametrize(
    "words",
    [
        "ERR The user executing the script can't run this command or subcommand",
        "ERR ACL failure in script: User u has no permissions to run the 'set' command",
    ],
)
def test_a_right_that_is_missing_inside_a_script_is_told_whatever_the_server_calls_it(
    words: str,
) -> None:
    told = from_reply(f"{words} script: 95614bfd, on @user_script:63.", ("k",), "here")

    assert isinstance(told, StoreMisconfigured)
    assert "here denies this user a command" in str(told)
    assert told.partial  # it may have written before
