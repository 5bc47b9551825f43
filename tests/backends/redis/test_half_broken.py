"""Bad input and worlds that are half broken: one sentence, soon, and nothing is left behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
import redis

from interlock import InterlockError, LockLost, StoreMisconfigured, StoreUnavailable, UsageError
from tests.support.clusters import SLOTS, ClusterServer, RedisCluster, slot_of
from tests.support.sentinels import SERVICE, SentinelFleet, SentinelServer, awaited
from tests.support.servers import RedisServer

from ...support.worlds import World, check_works
from .impostors import Impostor
from .test_sentinel import named

CANARY = "c4n4ry"


def told(world: World, url: str, name: str = "k", **options: Any) -> InterlockError:
    """What a waiter is told: in one sentence, in time, and without what led to it."""
    began = time.monotonic()
    with pytest.raises(InterlockError) as refused:
        client = world.connect(url, **options)
        world.do(lambda: client.lock(name).acquire(timeout=1))
    assert time.monotonic() - began < 3.0
    error = refused.value
    assert "\n" not in str(error)
    assert CANARY not in str(error)
    assert not hasattr(error, "__notes__")
    assert len(chain(error)) <= 2
    return error


def chain(error: BaseException | None) -> list[BaseException]:
    """What a traceback would show."""
    shown = []
    while error is not None:
        shown.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return shown


# --- Sentinels ----------------------------------------------------------------------------------


@pytest.mark.server
def test_a_service_that_no_sentinel_knows(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    error = told(world, sentinel_url.replace(SERVICE, "lokcs"))

    assert isinstance(error, StoreMisconfigured)
    assert "knows no service 'lokcs'; check the name in redis+sentinel://" in str(error)


@pytest.fixture
def stranger(sentinel_fleet: SentinelFleet) -> Iterator[SentinelServer]:
    """A Sentinel of the same primary that has a password of its own."""
    settings = (
        f"sentinel monitor {SERVICE} 127.0.0.1 {sentinel_fleet.servers[0].port} 9\n"
        "requirepass another\n"
    )
    with SentinelServer(settings) as server:
        yield server


@pytest.mark.server
def test_a_sentinel_that_needs_another_password_is_passed_over(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str, stranger: SentinelServer
) -> None:
    hosts = f"127.0.0.1:{stranger.port},{sentinel_fleet.hosts}"

    check_works(world, lambda: world.connect(f"redis+sentinel://{hosts}/{SERVICE}"))


@pytest.mark.server
@pytest.mark.parametrize(
    ("password", "words"),
    [
        (None, "requires a password; pass sentinel_password="),
        (CANARY, "refused the user name or password"),
    ],
)
def test_where_all_sentinels_need_another_password_it_is_said_whose(
    world: World, stranger: SentinelServer, password: str | None, words: str
) -> None:
    url = f"redis+sentinel://127.0.0.1:{stranger.port}/{SERVICE}"
    error = told(world, url, sentinel_password=password)

    assert isinstance(error, StoreMisconfigured)
    assert f"Sentinel 127.0.0.1:{stranger.port} {words}" in str(error)


def epoch(server: RedisServer, number: int) -> bytes:
    """What a Sentinel says that made this server the primary in its failover of this number."""
    return named(server).replace(b"$1\r\n1\r\n", f"$1\r\n{number}\r\n".encode())


@pytest.mark.server
def test_of_sentinels_that_disagree_the_newest_failover_counts(
    world: World, redis_server: RedisServer, own_redis: RedisServer
) -> None:
    """Both servers take themselves for primaries; a client goes to the newer one, and stays."""
    with Impostor(epoch(redis_server, 1)) as old, Impostor(epoch(own_redis, 2)) as new:
        client = world.connect(
            f"redis+sentinel://127.0.0.1:{old.port},127.0.0.1:{new.port}/{SERVICE}"
        )

        def granted_by_the_new_one() -> bool:
            hold = world.do(client.lock("disagreed").acquire)
            with redis.Redis(port=own_redis.port) as peek:
                found = bool(peek.exists("disagreed"))
            with suppress(LockLost):  # the client may leave the older one meanwhile
                world.do(hold.release)
            return found

        awaited(granted_by_the_new_one, "the newer primary", 10.0)
        until = time.monotonic() + 2.5  # the Sentinels are asked again, each in its turn
        while time.monotonic() < until:
            assert granted_by_the_new_one()
            time.sleep(0.05)


# --- clusters -----------------------------------------------------------------------------------


@pytest.mark.server
def test_a_server_that_is_not_in_cluster_mode_is_named(
    world: World, redis_server: RedisServer
) -> None:
    error = told(world, f"redis+cluster://127.0.0.1:{redis_server.port}")

    assert isinstance(error, StoreMisconfigured)
    assert f"node 127.0.0.1:{redis_server.port}" in str(error)
    assert "is not in cluster mode; use redis://" in str(error)


@contextmanager
def uncovered(cluster: RedisCluster, slot: int, full: str) -> Iterator[None]:
    """A cluster in which no node serves a slot."""
    owner = cluster.owner(slot)
    for node in cluster.nodes:
        node.ask("CONFIG", "SET", "cluster-require-full-coverage", full)
        with suppress(redis.ResponseError):  # it has heard of it already
            node.ask("CLUSTER DELSLOTS", slot)
    try:
        yield
    finally:
        owner.ask("CLUSTER ADDSLOTS", slot)
        for node in cluster.nodes:
            node.ask("CONFIG", "SET", "cluster-require-full-coverage", "yes")
        awaited(lambda: all(serves_all(node) for node in cluster.nodes), "all slots", 20.0)
        cluster.await_ready()


def serves_all(node: ClusterServer) -> bool:
    """Whether a node knows of every slot who serves it."""
    return int(node.facts["cluster_slots_assigned"]) == SLOTS


@pytest.mark.server
@pytest.mark.parametrize("full", ["yes", "no"])
def test_a_slot_that_no_node_serves_is_said_with_where_to_look(
    world: World, cluster: RedisCluster, cluster_url: str, full: str
) -> None:
    with uncovered(cluster, slot_of("unserved"), full):
        error = told(world, cluster_url, "unserved")

    assert isinstance(error, StoreUnavailable)
    assert "see CLUSTER SLOTS" in str(error) or "see its CLUSTER INFO" in str(error)


@pytest.mark.server
def test_where_a_slot_may_be_missing_the_others_go_on(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    with uncovered(cluster, slot_of("unserved"), "no"):
        check_works(world, lambda: world.connect(cluster_url))


@pytest.mark.server
def test_a_name_in_two_slots_leaves_nothing(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    error = told(world, cluster_url, "a{")

    assert isinstance(error, StoreMisconfigured)
    assert "choose a name without braces" in str(error)
    assert [key for node in cluster.nodes[:3] for key in node.ask("KEYS", "*a{*")] == []


def test_a_database_of_a_cluster_is_refused(world: World) -> None:
    for url in ("redis+cluster://h/1", "redis+cluster://h?db=3"):
        error = told(world, url)
        assert isinstance(error, UsageError)
        assert "leave the database out of the URL" in str(error)


# --- Redlock ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ("a,b,c,d", "needs an odd number of servers, three or more, and not 4"),
        ("a,b", "needs an odd number of servers, three or more, and not 2"),
        ("a,b,a", "names a:6379 twice: a server has one vote"),
        ("127.0.0.1,b,localhost", "names localhost:6379 twice"),
    ],
)
def test_servers_that_cannot_vote_are_refused(world: World, hosts: str, words: str) -> None:
    error = told(world, f"redlock://{hosts}")

    assert isinstance(error, UsageError)
    assert words in str(error)


def passwords(*each: str) -> tuple[ExitStack, list[RedisServer]]:
    """Servers with these passwords."""
    stack = ExitStack()
    servers = [stack.enter_context(RedisServer("--requirepass", password)) for password in each]
    return stack, servers


@pytest.mark.server
@pytest.mark.parametrize("right", [3, 0])
def test_a_password_that_is_wrong_for_some_leaves_nothing_on_the_others(
    world: World, right: int
) -> None:
    stack, servers = passwords(*["right-pw"] * right, *["other-pw"] * (5 - right))
    with stack:
        places = ",".join(f"127.0.0.1:{each.port}" for each in servers)
        people = ":right-pw@" if right else f":{CANARY}@"
        error = told(world, f"redlock://{people}{places}?restart_guard=off")

        assert isinstance(error, StoreMisconfigured)
        assert "refused the user name or password; check both" in str(error)
        assert any(f"127.0.0.1:{each.port}" in str(error) for each in servers[right:])
        for each in servers[:right]:
            with redis.Redis(port=each.port, password="right-pw") as peek:
                awaited(lambda peek=peek: not peek.exists("k"), "an empty node", 5.0)  # type: ignore[misc]


@pytest.mark.server
def test_no_password_where_one_is_needed_is_told_so(world: World) -> None:
    stack, servers = passwords("a", "b", "c")
    with stack:
        places = ",".join(f"127.0.0.1:{each.port}" for each in servers)
        for url in (f"redlock://{places}", f"redis+cluster://{places}", servers[0].url):
            error = told(world, url)
            assert isinstance(error, StoreMisconfigured)
            assert "requires a password; put it into the URL or pass password=" in str(error)


@pytest.mark.server
def test_one_server_under_three_names_is_refused_and_left_empty(world: World) -> None:
    with RedisServer("--bind", "127.0.0.1 127.0.0.2 127.0.0.3") as server:
        hosts = [f"127.0.0.{number}:{server.port}" for number in (1, 2, 3)]
        error = told(world, f"redlock://{','.join(hosts)}?restart_guard=off")

        assert isinstance(error, StoreMisconfigured)
        assert "are one and the same server, which has one vote" in str(error)
        with redis.Redis(port=server.port) as peek:
            awaited(lambda: not peek.exists("k"), "an empty server", 5.0)
