"""redlock:// and what is wrong with some of them, each in one sentence."""

from __future__ import annotations

import pytest

import interlock
from interlock.backends.redis.redlock.url import read_url
from interlock.errors import StoreMisconfigured, Unsupported, UsageError
from tests.support.redlocks import RedlockServers
from tests.support.servers import RedisServer

from ....support.worlds import World


def test_every_node_has_the_same_settings() -> None:
    settings = read_url("redlock://u:p%40ss@a,b:7001,[::1]:7002/3?timeout=2s&longest_lease=5m")

    assert [(node.host, node.port, node.db) for node in settings.nodes] == [
        ("a", 6379, 3),
        ("b", 7001, 3),
        ("::1", 7002, 3),
    ]
    assert {(node.username, node.password, node.timeout) for node in settings.nodes} == {
        ("u", "p@ss", 2.0)
    }
    assert settings.longest_lease == 300
    assert settings.restart_guard


def test_the_label_tells_no_secret() -> None:
    settings = read_url("redlock://u:secret@a,b,[::1]:7002/3?restart_guard=off")

    assert settings.label == "redlock://a:6379,b:6379,[::1]:7002/3"
    assert "secret" not in repr(settings)
    assert not settings.restart_guard


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redlock://a,b,c,d", "odd number of servers, three or more, and not 4"),
        ("redlock://a", "odd number of servers, three or more, and not 1"),
        ("redlock://", "odd number of servers, three or more, and not 0"),
        ("redlock://a,b,a", "names a:6379 twice"),
        ("redlock://a,b,A:6379", "names a:6379 twice"),
        ("redlock://127.0.0.1,b,localhost", "names localhost:6379 twice"),
        ("redlock://[::1],b,[0:0::1]", "twice"),
        ("redlock://a,,b,c", "a host is missing"),
        ("redlock://a,b,c,", "a host is missing"),
        ("redlock://u:p@a,u:p@b,u:p@c", "more than one '@'"),
        ("redlock://a,b,c?replicas=1", "no 'replicas': a majority of the nodes confirms"),
        ("redlock://a,b,c?ca_certs=/ca.pem", "no 'ca_certs': only redlocks:// uses TLS"),
        ("redlock://a,b,c:port", "port"),
        ("redlock://a,b,c/x", "database"),
        ("redlock://a,b,c?tiemout=3", "unknown parameter 'tiemout'"),
        ("redlock://a,b,c?restart_guard=maybe", "on or off"),
        ("redlock://a,b,c?longest_lease=0s", "at least 50 ms"),
        ("redlock://a,b,c?longest_lease=long", "longest_lease"),
    ],
)
def test_what_is_wrong_is_said(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        interlock.connect(url)


def test_a_password_is_never_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        interlock.connect("redlock://u:se/cret@a,b,c")

    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "terms"),
    [
        ("fair_lock", {}),
        ("fenced_lock", {}),
        ("semaphore", {"permits": 2}),
        ("leased_semaphore", {"permits": 2}),
        ("latch", {}),
    ],
)
def test_what_a_quorum_cannot_do_names_what_can(kind: str, terms: dict[str, int]) -> None:
    with (
        interlock.connect("redlock://a,b,c") as client,
        pytest.raises(Unsupported, match=rf"has no {kind}\(\).*[Rr]edis"),
    ):
        getattr(client, kind)("name", **terms)


def test_a_lease_beyond_the_longest_is_refused(world: World, redlock_url: str) -> None:
    client = world.connect(redlock_url)

    with pytest.raises(UsageError, match=r"a lease of 2 min.* longer than longest_lease, 1 min"):
        world.do(client.lock("name", lease=120).acquire)


@pytest.mark.server
def test_one_server_under_two_names_is_refused(world: World) -> None:
    with RedisServer("--bind", "127.0.0.1 127.0.0.2") as twice, RedlockServers(3) as others:
        places = [f"127.0.0.1:{each.port}" for each in (twice, *others.servers)]
        places.append(f"127.0.0.2:{twice.port}")
        client = world.connect(f"redlock://{','.join(places)}?restart_guard=off")

        with pytest.raises(StoreMisconfigured, match="are one and the same server") as caught:
            world.do(client.lock("name").acquire)

        assert places[0] in str(caught.value)
        assert places[-1] in str(caught.value)
        assert not any(each.exists("name") for each in others.clients)


@pytest.mark.server
def test_a_password_that_is_right_for_three_of_five_is_refused(world: World) -> None:
    with RedlockServers(3, "--requirepass", "right") as three, RedlockServers(2) as two:
        for client in two.clients:
            client.config_set("requirepass", "other")
        ports = [each.port for each in (*three.servers, *two.servers)]
        places = ",".join(f"127.0.0.1:{port}" for port in ports)
        client = world.connect(f"redlock://:right@{places}?restart_guard=off")

        with pytest.raises(
            StoreMisconfigured, match="refused the user name or password"
        ) as caught:
            world.do(client.lock("name").acquire)

        assert str(two[0].port) in str(caught.value) or str(two[1].port) in str(caught.value)
        assert "right" not in str(caught.value)
