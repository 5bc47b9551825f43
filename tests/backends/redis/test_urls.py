"""Our own reader of Redis URLs: what it accepts, what it refuses, and that it keeps secrets."""

from __future__ import annotations

from typing import Any

import pytest

import interlock
from interlock import UsageError
from interlock.backends.redis.cluster.url import read_cluster_url
from interlock.backends.redis.url import RedisSettings, read_url

CANARY = "c4n4ry"

ACCEPTED: dict[str, dict[str, Any]] = {
    "redis://": {},
    "redis://h": {"host": "h"},
    "REDIS://h": {"host": "h"},
    "redis://h:7/3": {"host": "h", "port": 7, "db": 3},
    "redis://h?db=4": {"host": "h", "db": 4},
    "redis://[::1]:7": {"host": "::1", "port": 7},
    "redis://:pw@h": {"host": "h", "password": "pw"},
    "redis://user:pw@h": {"host": "h", "username": "user", "password": "pw"},
    "redis://user@h": {"host": "h", "username": "user"},
    "redis://:p%40%2F%23w@h": {"host": "h", "password": "p@/#w"},
    "redis://:a:b@h": {"host": "h", "password": "a:b"},
    "valkey://h": {"host": "h"},
    "rediss://h": {"host": "h", "transport": "tls"},
    "valkeys://h": {"host": "h", "transport": "tls"},
    "rediss://h?ca_certs=/ca.pem": {"host": "h", "transport": "tls", "ca_certs": "/ca.pem"},
    "unix:///run/r.sock?db=2": {"transport": "unix", "path": "/run/r.sock", "db": 2},
    "unix://:pw@/run/r.sock": {"transport": "unix", "path": "/run/r.sock", "password": "pw"},
    "redis://h?timeout=0.5&connect_timeout=2": {
        "host": "h",
        "timeout": 0.5,
        "connect_timeout": 2.0,
    },
    "redis://h?protocol=2&client_name=me": {"host": "h", "protocol": 2, "client_name": "me"},
    "redis://h?replicas=2": {"host": "h", "replicas": 2},
    "redis://h?replicas=all": {"host": "h", "replicas": "all"},
}

#: What is as usual where Sentinels are asked.
WATCHED = {"timeout": 2.0, "connect_timeout": 2.0, "replicas": None, "service": "m"}

ACCEPTED |= {
    "redis+sentinel://h/m": {**WATCHED, "sentinels": (("h", 26379),)},
    "valkey+sentinel://h/m": {**WATCHED, "sentinels": (("h", 26379),)},
    "valkeys+sentinel://h/m": {**WATCHED, "sentinels": (("h", 26379),), "transport": "tls"},
    "Redis+Sentinel:///m": {**WATCHED, "sentinels": (("localhost", 26379),)},
    "redis+sentinel://a,b:7,[::1]:8/m/3": {
        **WATCHED,
        "sentinels": (("a", 26379), ("b", 7), ("::1", 8)),
        "db": 3,
    },
    "redis+sentinel://a,a:26379,b/m": {**WATCHED, "sentinels": (("a", 26379), ("b", 26379))},
    "rediss+sentinel://user:p%40w@a,b/m?replicas=0&timeout=5&ca_certs=/ca.pem": {
        **WATCHED,
        "sentinels": (("a", 26379), ("b", 26379)),
        "transport": "tls",
        "username": "user",
        "password": "p@w",
        "replicas": 0,
        "timeout": 5.0,
        "ca_certs": "/ca.pem",
    },
}


@pytest.mark.parametrize("url", ACCEPTED)
def test_url_is_read(url: str) -> None:
    assert read_url(url) == RedisSettings(**ACCEPTED[url])


@pytest.mark.parametrize("scheme", ["redis", "rediss", "valkey", "valkeys"])
def test_url_of_a_cluster_is_read(scheme: str) -> None:
    settings, seeds, label = read_cluster_url(f"{scheme}+cluster://user:p%40w@a,b:7")
    tls = scheme.endswith("ss") or scheme == "valkeys"

    assert (settings.transport, settings.username, settings.password) == (
        "tls" if tls else "tcp",
        "user",
        "p@w",
    )
    assert seeds == [("a", 6379), ("b", 7)]
    assert label == f"{'rediss' if tls else 'redis'}+cluster://a:6379,b:7"


REFUSED = {
    "unknown parameter": f"redis://:{CANARY}@h?socket_timeout=1",
    "password as a parameter": f"redis://h?password={CANARY}",
    "verification off": f"rediss://:{CANARY}@h?ssl_cert_reqs=none",
    "insecure by URL": f"rediss://:{CANARY}@h?insecure_tls=true",
    "host name check off": f"rediss://:{CANARY}@h?ssl_check_hostname=false",
    "NaN timeout": f"redis://:{CANARY}@h?timeout=nan",
    "infinite timeout": f"redis://:{CANARY}@h?timeout=inf",
    "no time at all": f"redis://:{CANARY}@h?timeout=0",
    "negative timeout": f"redis://:{CANARY}@h?connect_timeout=-1",
    "timeout in words": f"redis://:{CANARY}@h?timeout=soon",
    "unknown protocol": f"redis://:{CANARY}@h?protocol=4",
    "database in words": f"redis://:{CANARY}@h/main",
    "negative database": f"redis://:{CANARY}@h?db=-1",
    "command in a name": f"redis://:{CANARY}@h?client_name=a%0d%0aFLUSHALL",
    "NUL in a name": f"redis://:{CANARY}@h?client_name=a%00b",
    "line break": f"redis://:{CANARY}@ho\nst",
    "tab": f"redis://:{CANARY}@ho\tst",
    "space": f"redis://:{CANARY}@ho st",
    "encoded line break in the host": f"redis://:{CANARY}@ho%0ast",
    "at sign in the host": f"redis://:{CANARY}@ho%40st",
    "slash in the host": f"redis://:{CANARY}@ho%2Fst",
    "port in words": f"redis://:{CANARY}@h:port",
    "port zero": f"redis://:{CANARY}@h:0",
    "port too large": f"redis://:{CANARY}@h:65536",
    "negative port": f"redis://:{CANARY}@h:-1",
    "broken IPv6": f"redis://:{CANARY}@[::1",
    "host that is none": f"redis://:{CANARY}@ho\u2100st",
    "parameter without a value": f"redis://h?{CANARY}",
    "fragment": f"redis://:12#{CANARY}@h",
    "bare slash in the password": f"redis://user:12/{CANARY}@h",
    "bare question mark in the password": f"redis://:12?{CANARY}@h",
    "socket without a path": f"unix://:{CANARY}@",
    "socket path without its slash": f"unix://:{CANARY}@run/r.sock",
    "replicas in words": f"redis://:{CANARY}@h?replicas=both",
    "fewer than no replicas": f"redis://:{CANARY}@h?replicas=-1",
    "no service": f"redis+sentinel://:{CANARY}@a,b",
    "no service but a slash": f"redis+sentinel://:{CANARY}@a,b/",
    "service with a space": f"redis+sentinel://:{CANARY}@a/my%20service",
    "bare slash in the password before Sentinels": f"redis+sentinel://user:12/{CANARY}@h",
    "bare question mark before Sentinels": f"redis+sentinel://:12?{CANARY}@h/m",
    "credentials before each Sentinel": f"redis+sentinel://u:{CANARY}@a,u:{CANARY}@b/m",
    "bare at sign in the password before Sentinels": f"redis+sentinel://u:p@{CANARY}@a/m",
    "credentials before each node": f"redis+cluster://u:{CANARY}@a,u:{CANARY}@b",
    "missing node": f"redis+cluster://:{CANARY}@a,,b",
    "missing Sentinel": f"redis+sentinel://:{CANARY}@a,,b/m",
    "port of a Sentinel in words": f"redis+sentinel://:{CANARY}@a,b:port/m",
    "line break among Sentinels": f"redis+sentinel://:{CANARY}@a,b\n/m",
    "database behind a service in words": f"redis+sentinel://:{CANARY}@a/m/main",
    "Sentinel's password as a parameter": f"redis+sentinel://a/m?sentinel_password={CANARY}",
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_url_is_refused_without_repeating_the_password(wrong: str) -> None:
    read = read_cluster_url if "+cluster" in REFUSED[wrong] else read_url
    with pytest.raises(UsageError) as refusal:
        read(REFUSED[wrong])
    assert CANARY not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__


@pytest.mark.parametrize("wrong", REFUSED)
def test_connecting_by_a_wrong_url_fails_the_same_way(wrong: str) -> None:
    with pytest.raises(UsageError) as refusal:
        interlock.connect(REFUSED[wrong])
    assert CANARY not in str(refusal.value)


def test_settings_never_show_the_password() -> None:
    settings = read_url(f"redis://user:{CANARY}@h:7/2")
    assert settings.password == CANARY
    assert CANARY not in repr(settings) + str(settings) + settings.label


def test_label_names_the_server() -> None:
    assert read_url(f"rediss://:{CANARY}@[::1]:7/2").label == "rediss://[::1]:7/2"
    assert read_url(f"unix://:{CANARY}@/run/r.sock?db=3").label == "unix:///run/r.sock?db=3"
    watched = read_url(f"rediss+sentinel://u:{CANARY}@a,[::1]:7/m/2").label
    assert watched == "rediss+sentinel://a:26379,[::1]:7/m/2"


@pytest.mark.parametrize("replicas", [-1, 1.5, True, "1"])
def test_replicas_are_a_whole_number(replicas: Any) -> None:
    with pytest.raises((UsageError, TypeError), match="replicas must be"):
        interlock.connect("redis://h", replicas=replicas)


def test_a_single_server_has_no_sentinels_to_know() -> None:
    with pytest.raises(TypeError, match="sentinel_password"):
        interlock.connect("redis://h", sentinel_password=CANARY)
