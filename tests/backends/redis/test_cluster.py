"""Locks in a Redis Cluster: every name on the node that serves its slot."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interlock import AcquireTimeout, StoreMisconfigured, StoreUnavailable, UsageError
from interlock.backends.redis.cluster.slot_map import Address, SlotMap
from interlock.backends.redis.cluster.slots import SLOTS, counter_of, fits, slot_of, tags
from interlock.backends.redis.cluster.url import read_cluster_url
from interlock.backends.redis.scripts import script
from interlock.steps import Call
from tests.support import clusters
from tests.support.clusters import RedisCluster
from tests.support.eventually import eventually
from tests.support.servers import RedisServer, free_port

from ...support.worlds import World

#: Names on three nodes.
NAMES = ("a", "b", "c", "orders:42", "{tag}one", "two{tag}")

#: Names whose keys Redisson's rule sends to two slots.
TWO_SLOTS = ("}", "a}b", "{", "{}", "a{}b")


# --- slots ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [*NAMES, *TWO_SLOTS, "ключ", "{a}{b}", "a{b}c}", "x" * 5000])
def test_a_slot_is_the_one_that_the_server_computes(key: str, cluster: RedisCluster) -> None:
    assert slot_of(key) == cluster.nodes[0].ask("CLUSTER KEYSLOT", key) == clusters.slot_of(key)


def test_every_slot_has_a_tag_of_its_own_which_no_version_may_change() -> None:
    assert [slot_of(f"{{{tag}}}") for tag in tags()] == list(range(SLOTS))
    assert (tags()[0], tags()[12345], tags()[16383]) == ("1bz", "0qs", "hia")


def test_names_that_lie_in_two_slots_are_known() -> None:
    assert [name for name in (*NAMES, *TWO_SLOTS) if not fits(name)] == [*TWO_SLOTS]


# --- where things lie ----------------------------------------------------------------------------


def keys(cluster: RedisCluster) -> dict[str, int]:
    """Every key of the cluster, and the number of the node that has it."""
    return {
        key.decode(): node.number
        for node in cluster.nodes
        if node.ask("ROLE")[0] == b"master"
        for key in node.ask("KEYS", "*")
    }


def test_each_lock_and_its_counter_lie_on_the_node_of_its_slot(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    client = world.connect(cluster_url)
    holds = [world.do(client.lock(name).acquire) for name in NAMES]

    found = keys(cluster)
    for name in NAMES:
        owner = cluster.primary_of(name).number
        assert found[name] == found[counter_of(slot_of(name))] == owner
    assert "interlock:tokens" not in found
    assert len({found[name] for name in NAMES}) > 1
    for hold in holds:
        world.do(hold.release)
    left = {key for key in keys(cluster) if not key.startswith("interlock:client:")}
    assert left == {counter_of(slot_of(name)) for name in NAMES}


def test_tokens_grow_also_when_the_slot_moves_to_a_node_whose_clock_is_behind(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    lock = world.connect(cluster_url).lock("clocks")
    future = "9000000000000000"
    cluster.primary_of("clocks").ask("SET", counter_of(slot_of("clocks")), future)
    world.do(lock.acquire(timeout=5).release if world.name == "threads" else _pair(lock))

    cluster.move_slot(slot_of("clocks"))
    hold = world.do(lock.acquire)

    assert hold.token > int(future)
    world.do(hold.release)


def _pair(lock: Any) -> Callable[[], Any]:
    async def pair() -> None:
        async with lock:
            pass

    return pair


def test_several_names_at_once_and_all_that_is_told_of_them(
    world: World, cluster_url: str
) -> None:
    client, other = world.connect(cluster_url), world.connect(cluster_url)
    hold = world.do(client.multilock(*NAMES, lease=1.5).acquire)

    assert {info.name for info in world.do(other.locks)} == set(NAMES)
    (holder,) = world.do(lambda: other.inspect("orders:42")).holders
    assert holder.pid
    world.do(lambda: other.revoke("orders:42"))
    assert eventually(lambda: hold.lost, 20)
    assert world.do(lambda: other.lock("orders:42").acquire(timeout=5))


def test_many_holds_of_many_slots_are_renewed_in_one_journey(
    world: World, cluster_url: str
) -> None:
    client = world.connect(cluster_url)
    holds = [world.do(client.lock(f"many:{n}", lease=1.5).acquire) for n in range(60)]
    ends = [hold._lease.until for hold in holds]

    assert eventually(lambda: all(h._lease.until > e for h, e in zip(holds, ends, strict=True)))
    assert not any(hold.lost for hold in holds)


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_waiter_on_each_node_is_handed_its_lock(
    world: World, cluster_url: str, protocol: int
) -> None:
    url = f"{cluster_url}?protocol={protocol}"
    client, other = world.connect(url), world.connect(url)
    for name in NAMES:
        hold = world.do(client.lock(name).acquire)
        waiting = world.start(partial(other.lock(name).acquire, timeout=10))
        look = partial(world.do, partial(client.inspect, name))
        assert eventually(partial(_waits, look))
        world.do(hold.release)
        assert waiting.result(5).token > hold.token


def _waits(look: Callable[[], Any]) -> bool:
    return bool(look().waiters == 1)


# --- Java ----------------------------------------------------------------------------------------


def test_java_is_told_on_the_channel_of_the_slot(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    lock = world.connect(cluster_url).lock("java")
    with cluster.primary_of("java").client() as client, client.pubsub() as java:
        java.ssubscribe("redisson_lock__channel:{java}")
        assert java.get_sharded_message(timeout=5)["type"] == "ssubscribe"

        world.do(world.do(lock.acquire).release)

        assert java.get_sharded_message(timeout=5)["data"] == b"0"


@pytest.mark.parametrize("protocol", [2, 3])
def test_behind_java_a_waiter_hears_on_the_channel_of_the_slot(
    world: World, cluster: RedisCluster, cluster_url: str, protocol: int
) -> None:
    lock = world.connect(f"{cluster_url}?protocol={protocol}").lock("java")
    node, channel = cluster.primary_of("java"), "redisson_lock__channel:{java}"
    node.ask("HSET", "java", "11111111-1111-4111-8111-111111111111:1", 1)
    waiting = world.start(lambda: lock.acquire(timeout=10))
    assert eventually(lambda: node.ask("PUBSUB", "SHARDNUMSUB", channel)[1] == 1)

    node.ask("DEL", "java")
    node.ask("SPUBLISH", channel, "0")

    world.do(waiting.result(1.0).release)


@pytest.mark.parametrize("because", ["servers have none", "it is told so"])
def test_without_channels_of_slots_a_waiter_listens_on_the_node_of_its_slot(
    world: World,
    cluster: RedisCluster,
    cluster_url: str,
    monkeypatch: pytest.MonkeyPatch,
    because: str,
) -> None:
    learn = SlotMap.learn
    if because == "servers have none":
        monkeypatch.setattr(
            SlotMap, "learn", lambda slots, told, asked: learn(slots, [1, 0, told[2]], asked)
        )
    else:
        cluster_url += "?sharded_channels=off"
    node, channel = cluster.primary_of("java"), "redisson_lock__channel:{java}"
    node.ask("HSET", "java", "11111111-1111-4111-8111-111111111111:1", 1)
    lock = world.connect(cluster_url).lock("java")
    waiting = world.start(lambda: lock.acquire(timeout=10))
    assert eventually(lambda: node.ask("PUBSUB", "NUMSUB", channel)[1] == 1)

    node.ask("DEL", "java")
    node.ask("PUBLISH", channel, "0")

    world.do(waiting.result(1.0).release)


def test_where_servers_have_no_channels_of_slots_all_nodes_are_told() -> None:
    slots = SlotMap([Address("h", 1)], "here")
    slots.learn([1, 0, [[0, 16383, [b"h", 1]]]], Address("h", 1))
    call = Call(script("lock_release"), ("a",), (), 0.0)

    assert not slots.sharded("redisson_lock__channel:{a}")
    assert slots.sharded_call(call) is call


def test_java_that_uses_plain_channels_is_told_there(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    lock = world.connect(f"{cluster_url}?sharded_channels=off").lock("java")
    with cluster.primary_of("java").client() as client, client.pubsub() as java:
        java.subscribe("redisson_lock__channel:{java}")
        assert java.get_message(timeout=5)["type"] == "subscribe"

        world.do(world.do(lock.acquire).release)

        assert java.get_message(timeout=5)["data"] == b"0"


# --- bad input, and worlds that are half broken --------------------------------------------------


@pytest.mark.parametrize("name", TWO_SLOTS)
def test_a_name_in_two_slots_is_refused(world: World, cluster_url: str, name: str) -> None:
    client = world.connect(cluster_url)

    with pytest.raises(StoreMisconfigured, match=f"{re.escape(repr(name))} cannot be kept"):
        world.do(lambda: client.lock(name).acquire(timeout=2))
    with pytest.raises(StoreMisconfigured, match="braces"):
        world.do(lambda: client.inspect(name))


def test_a_latch_whose_channel_is_in_another_slot_is_refused(
    world: World, cluster_url: str
) -> None:
    latch = world.connect(cluster_url).latch("a{b}")

    with pytest.raises(StoreMisconfigured, match="two slots"):
        world.do(lambda: latch.start(2))


def test_a_name_of_another_program_in_two_slots_is_no_lock(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    cluster.primary_of("a}b").ask("HSET", "a}b", "11111111-1111-4111-8111-111111111111:1", 1)
    client = world.connect(cluster_url)
    world.do(client.lock("mine").acquire)

    assert [info.name for info in world.do(client.locks)] == ["mine"]


def test_one_seed_that_answers_is_enough(world: World, cluster: RedisCluster) -> None:
    url = f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{cluster.nodes[4].port}"

    assert world.do(lambda: world.connect(url).lock("seeds").acquire(timeout=5))


def test_no_seed_answers(world: World) -> None:
    url = f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{free_port()}"

    with pytest.raises(StoreUnavailable, match=r"no node of .* can be asked: cannot reach node"):
        world.do(lambda: world.connect(url).lock("a").acquire(timeout=1))


def test_a_server_that_is_not_in_cluster_mode(world: World, redis_server: RedisServer) -> None:
    url = f"redis+cluster://127.0.0.1:{redis_server.port}"

    with pytest.raises(StoreMisconfigured, match="is not in cluster mode; use redis://") as told:
        world.do(lambda: world.connect(url).lock("a").acquire(timeout=5))
    assert not hasattr(told.value, "__notes__")


def test_a_node_of_a_cluster_that_is_taken_for_a_server(
    world: World, cluster: RedisCluster
) -> None:
    for node in cluster.nodes:
        with pytest.raises((StoreMisconfigured, StoreUnavailable), match=r"redis\+cluster://"):
            world.do(partial(world.connect(node.url).lock("a").acquire, blocking=False))


def test_a_slot_that_no_node_serves(world: World, cluster: RedisCluster, cluster_url: str) -> None:
    slot = slot_of("unserved")
    owner = cluster.owner(slot)
    lock = world.connect(cluster_url).lock("unserved")
    try:
        for node in cluster.nodes:
            node.ask("CLUSTER DELSLOTS", slot)
        with pytest.raises(StoreUnavailable, match=r"no node of|cluster that is down"):
            world.do(lambda: lock.acquire(timeout=1))
    finally:
        owner.ask("CLUSTER ADDSLOTS", slot)
        cluster.await_ready()

    assert world.do(lambda: lock.acquire(timeout=5))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis+cluster://h/1", "only database 0"),
        ("redis+cluster://h?db=3", "only database 0"),
        ("redis+cluster://h1,,h2", "a host is missing"),
        ("redis+cluster://h1:0,h2", "must be a number from 1"),
        ("redis+cluster://h1,h2:x", "must be a number from 1"),
        ("redis+cluster://h?insecure_tls=1", "unknown parameter 'insecure_tls'"),
        ("redis+cluster://h1, h2", "a space"),
        ("redis+cluster://h?sharded_channels=plain", "must be on or off"),
        ("redis://h?sharded_channels=off", "unknown parameter 'sharded_channels'"),
    ],
)
def test_a_wrong_url_is_told_what_is_wrong(world: World, url: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        world.connect(url)


def test_a_url_and_its_label_without_secrets() -> None:
    url = (
        "rediss+cluster://user:se,cr%40t@h1:7000,[::1]:7001,h1:7000?timeout=2&sharded_channels=off"
    )
    settings, seeds, label = read_cluster_url(url)

    assert (settings.transport, settings.username, settings.timeout) == ("tls", "user", 2.0)
    assert settings.password == "se,cr@t"
    assert not settings.sharded_channels
    assert seeds == [Address("h1", 7000), Address("::1", 7001)]
    assert label == "rediss+cluster://h1:7000,[::1]:7001"


def test_the_rights_on_the_page_are_enough(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    rights = [word for page in ("redis", "redis-cluster") for word in acl_of(page)]
    for node in cluster.nodes:
        node.ask("ACL", "SETUSER", "interlock", "reset", *rights)
    url = cluster_url.replace("://", "://interlock:SECRET@")
    try:
        client, other = world.connect(url), world.connect(url)
        cluster.primary_of("orders:1").ask(
            "HSET", "orders:1", "11111111-1111-4111-8111-111111111111:1", 1
        )
        with pytest.raises(AcquireTimeout):
            world.do(lambda: client.lock("orders:1").acquire(timeout=0.3))
        hold = world.do(client.lock("orders:2").acquire)
        waiting = world.start(lambda: other.lock("orders:2").acquire(timeout=10))
        assert eventually(lambda: world.do(lambda: client.inspect("orders:2")).waiters == 1)
        cluster.move_slot(slot_of("orders:2"))
        world.do(hold.release)
        world.do(waiting.result(10).release)
    finally:
        for node in cluster.nodes:
            node.ask("ACL", "DELUSER", "interlock")


def acl_of(page: str) -> list[str]:
    """The rights of the user on a page."""
    text = (Path(__file__).parents[3] / "docs" / "backends" / f"{page}.md").read_text()
    block = re.search(r"```acl\nACL SETUSER interlock (.*?)```", text, re.DOTALL)
    assert block is not None
    return block.group(1).split()
