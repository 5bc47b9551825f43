"""`fence.redis`: check and write are one script, with any client of redis-py or valkey-py."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import redis
import redis.asyncio
import valkey
import valkey.asyncio

import interlock
from interlock import StaleToken, UsageError, aio, fence
from interlock.fence.guard_key import guard_key
from tests.support.clusters import RedisCluster
from tests.support.eventually import eventually

from .conftest import Fencing

GUARD = "interlock:fence:{orders:42}"

Making = Callable[[Fencing], Any]


@pytest.fixture
def look(redis_url: str) -> redis.Redis:
    """A client to look at what is there."""
    return redis.Redis.from_url(redis_url, decode_responses=True)


@pytest.fixture(params=["redis", "redis, texts", "valkey"])
def make(request: pytest.FixtureRequest, redis_url: str) -> Making:
    library = valkey if request.param == "valkey" else redis
    texts = request.param.endswith("texts")

    def client(fencing: Fencing) -> Any:
        face: Any = library if fencing.world.name == "threads" else library.asyncio
        return getattr(face, library.__name__.capitalize()).from_url(
            redis_url.replace("redis://", f"{library.__name__}://"), decode_responses=texts
        )

    return client


def close(fencing: Fencing, client: Any) -> None:
    fencing.world.do(client.close if fencing.world.name == "threads" else client.aclose)


def test_tokens_pass_in_order_and_an_equal_one_again(
    fencing: Fencing, make: Making, look: redis.Redis
) -> None:
    client = make(fencing)

    for token in (5, 5, 7):
        assert fencing("redis", client, "orders:42", token) == []

    assert look.get(GUARD) == "7"
    assert look.ttl(GUARD) == -1
    close(fencing, client)


def test_stale_token_is_refused_names_both_and_writes_nothing(
    fencing: Fencing, make: Making, look: redis.Redis
) -> None:
    client = make(fencing)
    fencing("redis", client, "orders:42", 7, ("SET", "orders:42", "new"))

    with pytest.raises(StaleToken) as refusal:
        fencing("redis", client, "orders:42", 6, ("SET", "orders:42", "old"))

    assert (refusal.value.token, refusal.value.newest) == (6, 7)
    assert (look.get("orders:42"), look.get(GUARD)) == ("new", "7")
    close(fencing, client)


def test_commands_answer_in_order(fencing: Fencing, make: Making, look: redis.Redis) -> None:
    client = make(fencing)

    answers = fencing(
        *("redis", client, "orders:42", 7),
        ("HSET", "orders:42", "state", "shipped", "weight", 2.5),
        ("GET", "nothing"),
        ("INCRBY", b"count", 3),
    )

    assert answers == [2, None, 3]
    assert look.hgetall("orders:42") == {"state": "shipped", "weight": "2.5"}
    close(fencing, client)


def test_hold_is_taken_for_its_token(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    with interlock.connect(redis_url) as il:
        with il.lock("orders:42") as old:
            pass
        with il.lock("orders:42") as hold:
            fence.redis(client, "orders:42", hold)

            with pytest.raises(StaleToken):
                fence.redis(client, "orders:42", old)
        assert il.locks() == []
    client.close()


@pytest.mark.parametrize(("older", "newer"), [(9, 10), (2**53, 2**53 + 1), (2**63 - 2, 2**63 - 1)])
def test_tokens_are_compared_as_whole_numbers(look: redis.Redis, older: int, newer: int) -> None:
    fence.redis(look, "orders:42", older)
    fence.redis(look, "orders:42", newer)

    with pytest.raises(StaleToken) as refusal:
        fence.redis(look, "orders:42", older)

    assert refusal.value.newest == newer


def test_guard_is_forgotten_when_it_was_not_asked_for_so_long(look: redis.Redis) -> None:
    fence.redis(look, "orders:42", 7, remember=100)
    assert 99_000 < look.pttl(GUARD) <= 100_000
    fence.redis(look, "orders:42", 7, remember=0.01)

    eventually(lambda: not look.exists(GUARD))
    fence.redis(look, "orders:42", 6)


def test_failing_command_is_raised_as_the_client_does(look: redis.Redis) -> None:
    look.set("text", "x")

    with pytest.raises(redis.ResponseError, match="not an integer"):
        fence.redis(look, "orders:42", 7, ("SET", "a", "1"), ("INCR", "text"), ("SET", "b", "1"))

    assert (look.get("a"), look.get("b")) == ("1", None)


def test_server_that_has_forgotten_the_script_hears_it_again(look: redis.Redis) -> None:
    fence.redis(look, "orders:42", 7)
    look.script_flush()

    with pytest.raises(StaleToken):
        fence.redis(look, "orders:42", 6)


def test_foreign_value_in_the_place_of_a_guard_is_named(look: redis.Redis) -> None:
    look.set(GUARD, "shipped")

    with pytest.raises(redis.ResponseError, match="not a guard of Interlock"):
        fence.redis(look, "orders:42", 7)


def test_writes_of_a_crowd_are_in_the_order_of_their_tokens(look: redis.Redis) -> None:
    def holders(first: int) -> None:
        for token in range(first, 120, 6):
            try:
                fence.redis(look, "orders:42", token, ("RPUSH", "log", token))
            except StaleToken:
                pass

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(holders, range(1, 7)))

    tokens = [int(each) for each in look.lrange("log", 0, -1)]
    assert tokens == sorted(tokens)
    assert tokens[-1] == 119


# --- a cluster -----------------------------------------------------------------------------------


def test_guard_is_where_its_data_is_in_a_cluster(
    fencing: Fencing, cluster: RedisCluster, cluster_url: str
) -> None:
    library: Any = redis if fencing.world.name == "threads" else redis.asyncio
    port = int(cluster_url.rpartition(":")[2].partition("/")[0])
    client = fencing.world.do(lambda: library.RedisCluster(host="127.0.0.1", port=port))

    for name in ("orders:1", "orders:2", "orders:3", "{user:7}:orders"):
        data = (("SET", name, "new"), ("RPUSH", f"{{{tag(name)}}}:log", "x"))
        assert len(fencing("redis", client, name, 7, *data)) == 2
        with pytest.raises(StaleToken):
            fencing("redis", client, name, 6, ("SET", name, "old"))
        assert fencing.world.do(partial(client.get, name)) == b"new"
    close(fencing, client)


def tag(name: str) -> str:
    return name[1:].partition("}")[0] if name.startswith("{") else name


def test_guard_of_a_name_with_a_tag_is_not_that_of_the_tag() -> None:
    assert guard_key("{orders}") != guard_key("orders")


# --- what is refused -----------------------------------------------------------------------------


def test_client_of_the_other_world_is_refused() -> None:
    with pytest.raises(TypeError, match=r"await interlock\.aio\.fence\.redis"):
        fence.redis(redis.asyncio.Redis(), "orders:42", 1)
    with pytest.raises(TypeError, match=r"say interlock\.fence\.redis"):
        aio.fence.redis(redis.Redis(), "orders:42", 1).send(None)


def test_pipeline_is_refused() -> None:
    for client in (redis.Redis().pipeline(), valkey.Valkey().pipeline()):
        with pytest.raises(TypeError, match="must not be a pipeline"):
            fence.redis(client, "orders:42", 1)


@pytest.mark.parametrize("command", ["SET a b", b"PING", 7, None])
def test_what_is_no_command_is_named(command: Any) -> None:
    with pytest.raises(TypeError, match="a command must be a tuple"):
        fence.redis(redis.Redis(), "orders:42", 1, command)


def test_wrong_arguments_are_named_before_anything_is_sent() -> None:
    nowhere, nothing = redis.Redis(port=1), object()
    with pytest.raises(UsageError, match="resource must not be empty"):
        fence.redis(nowhere, "", 1)
    with pytest.raises(TypeError, match="resource must be a str"):
        fence.redis(nowhere, 42, 1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="remember must be at least a millisecond"):
        fence.redis(nowhere, "orders:42", 1, remember=0)
    with pytest.raises(UsageError, match="must not be empty"):
        fence.redis(nowhere, "orders:42", 1, ())
    with pytest.raises(TypeError, match="client must be a client of redis-py"):
        fence.redis(nothing, "orders:42", 1)  # type: ignore[arg-type]
