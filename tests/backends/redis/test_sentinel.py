"""A primary that Sentinels name: found in both worlds, and what is said where that fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import StoreMisconfigured, StoreUnavailable
from tests.support.sentinels import SERVICE, SentinelFleet
from tests.support.servers import RedisServer, free_port

from ...support.worlds import World, check_works
from .impostors import Impostor
from .test_acl import documented

pytestmark = pytest.mark.server

CANARY = "c4n4ry"


def watched(*ports: int, service: str = SERVICE) -> str:
    """The URL of a service that is watched by Sentinels on these ports."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"redis+sentinel://{hosts}/{service}"


def refusal(world: World, url: str, **options: Any) -> tuple[Exception, float]:
    """What a try is told, and after how long."""
    client = world.connect(url, **options)
    began = time.monotonic()
    with pytest.raises((StoreMisconfigured, StoreUnavailable)) as refused:
        world.do(lambda: client.lock("k").acquire(timeout=0))
    assert CANARY not in str(refused.value)
    assert "\n" not in str(refused.value)
    return refused.value, time.monotonic() - began


def test_the_primary_is_found(world: World, sentinel_url: str) -> None:
    check_works(world, lambda: world.connect(sentinel_url))


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_database_and_a_protocol_are_as_the_url_says(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str, protocol: int
) -> None:
    hold = world.do(world.connect(f"{sentinel_url}/3?protocol={protocol}").lock("k").acquire)
    with sentinel_fleet.ask(sentinel_fleet.primary()) as peek:
        assert not peek.exists("k")
        peek.execute_command("SELECT", 3)
        assert peek.exists("k")
    world.do(hold.release)


def test_sentinels_that_have_just_lost_a_connection_to_the_primary_still_name_it(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    """They restore it within a second, and call the primary disconnected until then."""
    with sentinel_fleet.ask(sentinel_fleet.primary()) as peek:
        for _ in range(10):
            peek.client_kill_filter(_type="pubsub")
            client = world.connect(sentinel_url)
            hold = world.do(client.lock("k").try_acquire)
            world.do(hold.release)


def test_dead_sentinels_are_passed_over(world: World, sentinel_fleet: SentinelFleet) -> None:
    alive = sentinel_fleet.sentinels[0].port
    url = watched(free_port(), free_port(), alive)

    check_works(world, lambda: world.connect(url))


def test_a_silent_sentinel_costs_its_share_of_the_time_once(
    world: World, sentinel_fleet: SentinelFleet
) -> None:
    silent, *alive = sentinel_fleet.sentinels
    client = world.connect(watched(silent.port, *(each.port for each in alive)))
    silent.pause()
    try:
        began = time.monotonic()
        world.do(world.do(client.lock("k").acquire).release)
        assert time.monotonic() - began < 2.0
    finally:
        silent.resume()


def test_dead_sentinels_are_named(world: World) -> None:
    ports = free_port(), free_port()
    error, took = refusal(world, watched(*ports))

    assert isinstance(error, StoreUnavailable)
    assert f"no Sentinel of {watched(*ports)}/0 answers" in str(error)
    assert all(f"Sentinel 127.0.0.1:{port}" in str(error) for port in ports)
    assert took < 2.0


def test_a_waiter_bears_sentinels_that_are_down_until_its_timeout(world: World) -> None:
    client = world.connect(watched(free_port()))
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="no Sentinel of"):
        world.do(lambda: client.lock("k").acquire(timeout=0.6))
    assert 0.5 < time.monotonic() - began < 2.6


def test_an_unknown_service_is_named(world: World, sentinel_fleet: SentinelFleet) -> None:
    port = sentinel_fleet.sentinels[0].port
    error, took = refusal(world, watched(port, service="lokcs"))

    assert isinstance(error, StoreMisconfigured)
    assert "knows no service 'lokcs'" in str(error)
    assert took < 2.0


def test_a_server_that_is_no_sentinel_is_named(world: World, redis_server: RedisServer) -> None:
    error, _ = refusal(world, watched(redis_server.port))

    assert isinstance(error, StoreMisconfigured)
    assert f"Sentinel 127.0.0.1:{redis_server.port} is no Sentinel" in str(error)


def test_a_web_server_is_quoted(world: World) -> None:
    with Impostor(b"HTTP/1.1 400 Bad Request\r\n\r\n") as impostor:
        error, _ = refusal(world, watched(impostor.port))

    assert isinstance(error, StoreUnavailable)
    assert f"Sentinel 127.0.0.1:{impostor.port}" in str(error)


def named(server: RedisServer) -> bytes:
    """What a Sentinel says that takes this server for the primary, and knows no replica."""
    words = ("ip", "127.0.0.1", "port", str(server.port), "flags", "master", "config-epoch", "1")
    texts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    return f"*{len(words)}\r\n{texts}*0\r\n".encode()


def test_a_server_that_is_no_primary_is_not_taken(
    world: World, sentinel_fleet: SentinelFleet
) -> None:
    with Impostor(named(sentinel_fleet.replicas()[0])) as behind:
        error, _ = refusal(world, watched(behind.port))

    assert isinstance(error, StoreUnavailable)
    assert "is a replica by now" in str(error)


# --- who asks -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded() -> Iterator[SentinelFleet]:
    with SentinelFleet(password="server-pw", sentinel_password="sentinel-pw") as fleet:
        yield fleet


def test_sentinels_and_server_have_passwords_of_their_own(
    world: World, guarded: SentinelFleet
) -> None:
    url = f"redis+sentinel://:server-pw@{guarded.hosts}/{SERVICE}"

    check_works(world, lambda: world.connect(url, sentinel_password="sentinel-pw"))
    check_works(
        world,
        lambda: world.connect(
            f"redis+sentinel://{guarded.hosts}/{SERVICE}",
            password=lambda: "server-pw",
            sentinel_username="default",
            sentinel_password=lambda: "sentinel-pw",
        ),
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sentinel_password": CANARY}, "Sentinel 127.0.0.1.* refused the user name or password"),
        ({}, "Sentinel 127.0.0.1.* requires a password; pass sentinel_password="),
        ({"sentinel_password": "sentinel-pw"}, "redis.sentinel://.* refused the "),
    ],
)
def test_a_wrong_password_is_told_with_whose_it_is(
    world: World, guarded: SentinelFleet, options: dict[str, Any], words: str
) -> None:
    client = world.connect(f"redis+sentinel://:{CANARY}@{guarded.hosts}/{SERVICE}", **options)
    with pytest.raises(StoreMisconfigured, match=words) as refused:
        world.do(client.lock("k").acquire)
    assert CANARY not in str(refused.value)


def test_a_user_that_may_not_ask_for_the_role_is_told(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    with sentinel_fleet.ask(sentinel_fleet.servers[0]) as peek:
        peek.execute_command("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-role")
    client = world.connect(sentinel_url, username="u", password="pw")

    with pytest.raises(StoreMisconfigured, match="denies this user ROLE"):
        world.do(client.lock("k").acquire)


@pytest.fixture
def asker(sentinel_fleet: SentinelFleet) -> Iterator[dict[str, str]]:
    """A user of the Sentinels who may ask for the primary alone."""
    for each in sentinel_fleet.sentinels:
        with sentinel_fleet.ask(each) as client:
            client.execute_command("ACL", "SETUSER", "u", "on", ">pw", "+sentinel|master")
    yield {"sentinel_username": "u", "sentinel_password": "pw"}
    for each in sentinel_fleet.sentinels:
        with sentinel_fleet.ask(each) as client:
            client.execute_command("ACL", "DELUSER", "u")


def test_a_user_who_may_not_ask_for_replicas_is_told_or_says_how_many_confirm(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str, asker: dict[str, str]
) -> None:
    client = world.connect(sentinel_url, **asker)
    with pytest.raises(StoreMisconfigured, match=r"denies this user SENTINEL .* replicas="):
        world.do(client.lock("k").acquire)
    world.do(world.connect(sentinel_url, replicas=1, **asker).lock("k").acquire)

    for each in sentinel_fleet.sentinels:
        with sentinel_fleet.ask(each) as peek:
            peek.execute_command("ACL", "SETUSER", "u", "+sentinel|replicas")
    world.do(client.lock("other").acquire)


def test_the_rights_that_the_page_lists_are_enough(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    with sentinel_fleet.ask(sentinel_fleet.servers[0]) as peek:
        peek.execute_command("ACL", *documented(), "+role", "+wait")
    url = f"{sentinel_url}?protocol=2"
    holder, waiter = (world.connect(url, username="interlock", password="pw") for _ in range(2))

    hold = world.do(holder.lock("orders:k").acquire)
    waiting = world.start(waiter.lock("orders:k").acquire)
    world.do(hold.release)
    world.do(waiting.result(10).release)
