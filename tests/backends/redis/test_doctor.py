"""What makes locks on one server unsafe: found when a user asks, and logged once by a client."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from interlock import Finding, StoreUnavailable
from interlock.backends.redis import doctor
from interlock.backends.redis.collisions import LOOKED_AT
from interlock.backends.redis.directory import STRIDE
from interlock.backends.redis.scripts import remade
from tests.support.sentinels import SentinelFleet
from tests.support.servers import RedisServer, free_port

from ...support.eventually import eventually
from ...support.worlds import World
from .metering import SORTS, Meter
from .test_acl import documented
from .watching import Monitor, raw

pytestmark = pytest.mark.server

#: Kinds that a second client has to wait for.
BUSY = {name: sort for name, sort in SORTS.items() if name != "read"}

KEEPS = ("--appendonly", "yes")


def found(world: World, url: str, **options: Any) -> dict[str, str]:
    """What a client finds: each code, and how bad it is."""
    client = world.connect(url, **options)
    findings: tuple[Finding, ...] = world.do(client.doctor)
    for each in findings:
        assert str(each) == f"{each.message}; {each.advice}"
        assert "\n" not in str(each)
        assert set(asdict(each)) == {"code", "severity", "node", "message", "advice"}
    return {each.code: each.severity for each in findings}


def logged(world: World, url: str, caplog: pytest.LogCaptureFixture, **options: Any) -> list[str]:
    """What a client logs that takes two locks, and has introduced itself."""
    caplog.clear()
    client = world.connect(url, **options)
    hold, other = (world.do(client.lock(name).acquire) for name in ("orders:1", "orders:2"))
    eventually(lambda: client._session._checkup._made)
    world.do(other.release)
    world.do(hold.release)
    return [line.getMessage() for line in caplog.records if line.name == "interlock.connect"]


@pytest.fixture(scope="module")
def sound() -> Iterator[RedisServer]:
    """A server that is as it should be."""
    with RedisServer(*KEEPS) as server:
        yield server


@pytest.fixture
def sound_url(sound: RedisServer) -> str:
    with raw(sound.port) as client:
        client.flushall()
    return sound.url


def test_a_sound_server_gives_no_reason_to_speak(
    world: World, sound_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert found(world, sound_url) == {}
    assert logged(world, sound_url, caplog) == []


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_evicts_is_found_and_logged_once(
    world: World, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    with RedisServer(*KEEPS, "--maxmemory", "64mb", "--maxmemory-policy", policy) as server:
        assert found(world, server.url) == {"eviction": "serious"}
        (line,) = logged(world, server.url, caplog)

    assert f"maxmemory-policy {policy}" in line
    assert "set maxmemory-policy noeviction" in line
    assert caplog.records[-1].levelno == logging.WARNING


def test_a_policy_without_a_limit_evicts_nothing(world: World) -> None:
    with RedisServer(*KEEPS, "--maxmemory-policy", "allkeys-lru") as server:
        assert found(world, server.url) == {}


def test_a_server_that_keeps_nothing_is_named_and_not_logged(
    world: World, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert found(world, redis_url) == {"persistence": "warning"}
    assert logged(world, redis_url, caplog) == []
    assert found(world, redis_url, restart_guard=True) == {}


# --- replicas -----------------------------------------------------------------------------------


def test_replicas_that_no_grant_waits_for(
    world: World,
    sentinel_fleet: SentinelFleet,
    sentinel_url: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = sentinel_fleet.primary().url

    assert found(world, url)["replicas"] == "serious"
    (line,) = logged(world, url, caplog)
    assert "has 2 replicas" in line
    assert "say replicas=1" in line
    assert "replicas" not in found(world, url, replicas=1)
    assert logged(world, url, caplog, replicas=1) == []


def test_by_sentinels_no_replicas_are_a_choice_which_is_named(
    world: World, sentinel_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert "replicas" not in found(world, sentinel_url)
    assert found(world, sentinel_url, replicas=0)["replicas"] == "warning"
    assert logged(world, f"{sentinel_url}?replicas=0", caplog) == []


@pytest.mark.parametrize(
    ("read_only", "words"), [("no", "takes writes"), ("yes", "grants nothing")]
)
def test_a_replica_that_is_taken_for_the_primary(
    world: World, sound: RedisServer, read_only: str, words: str
) -> None:
    follows = ("--replicaof", f"127.0.0.1 {sound.port}", "--replica-read-only", read_only)
    with RedisServer(*KEEPS, *follows) as replica:
        client = world.connect(replica.url)
        (finding,) = world.do(client.doctor)
        if read_only == "no":
            world.do(world.do(client.lock("k").acquire).release)

    assert (finding.code, finding.severity) == ("replica", "serious")
    assert words in finding.message
    assert f"127.0.0.1:{sound.port}" in finding.advice


# --- what is seen of it -------------------------------------------------------------------------


def claiming(monkeypatch: pytest.MonkeyPatch, **facts: str) -> None:
    """Let servers say something else of themselves."""
    lies = "".join(f"{word}:{value}\\r\\n" for word, value in facts.items())
    text = doctor.EXAMINE.text.replace("local text = ''", "local text = '\\r\\n'")
    text = text.replace("local time", f"text = text .. '{lies}'\nlocal time")
    monkeypatch.setattr(doctor, "EXAMINE", remade(doctor.EXAMINE, text))


@pytest.mark.parametrize(("version", "old"), [("6.0.16", True), ("6.2.0", False), ("10.0", False)])
def test_an_old_server(
    world: World, sound_url: str, monkeypatch: pytest.MonkeyPatch, version: str, old: bool
) -> None:
    claiming(monkeypatch, redis_version=version)

    assert found(world, sound_url) == ({"old-server": "serious"} if old else {})


@pytest.fixture
def limited(own_redis: RedisServer) -> Iterator[tuple[str, Any]]:
    """The URL for a user with the documented rights, and what the server sees."""
    with raw(own_redis.port) as admin:
        admin.execute_command("ACL", *documented())
        admin.execute_command("ACL", "LOG", "RESET")
        yield f"redis://interlock:pw@127.0.0.1:{own_redis.port}", admin


def test_a_user_that_may_not_ask_is_told_and_nothing_else_happens(
    world: World, limited: tuple[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    url, admin = limited

    assert logged(world, url, caplog) == []
    assert admin.execute_command("ACL", "LOG") == []
    assert found(world, url)["unseen"] == "info"


def test_names_that_a_user_may_not_read_are_not_looked_at(
    world: World, limited: tuple[str, Any]
) -> None:
    url, admin = limited
    admin.execute_command("ACL", "SETUSER", "interlock", "+info")
    admin.mset({"other": 1, "{other}": 1})
    client = world.connect(url)
    unseen = [each for each in world.do(client.doctor) if each.code == "unseen"]

    assert len(unseen) == 1
    assert "the names on" in unseen[0].message


def test_a_server_that_is_away_is_unavailable(world: World) -> None:
    client = world.connect(f"redis://127.0.0.1:{free_port()}")
    with pytest.raises(StoreUnavailable, match="cannot reach"):
        world.do(client.doctor)


# --- what it costs ------------------------------------------------------------------------------


def test_the_first_look_is_one_script_before_the_introduction_and_no_other_follows(
    world: World, redis_server: RedisServer, redis_url: str, peek: Any
) -> None:
    with Monitor(redis_server.port) as monitor:
        meter = Meter(monitor, peek)
        client = world.connect(redis_url)
        for _ in range(20):
            world.do(world.do(client.lock("k").acquire).release)
        eventually(lambda: peek.exists(f"interlock:client:{client._session.identity}"))
        looks = [name for name in meter.seen() if name in ("server_examine", "client_introduce")]

    assert looks == ["server_examine", "client_introduce"]


def test_a_large_database_is_looked_at_in_part(
    world: World, redis_server: RedisServer, redis_url: str, peek: Any
) -> None:
    peek.mset({f"key:{number}": number for number in range(30_000)})
    client = world.connect(redis_url)
    with Monitor(redis_server.port) as monitor:
        meter = Meter(monitor, peek)
        world.do(client.doctor)
        walks = meter.seen().count("names_walk") + meter.seen().count("EVAL")

    assert walks <= LOOKED_AT // STRIDE + 2


# --- names that collide -------------------------------------------------------------------------


def colliding(world: World, url: str) -> list[Finding]:
    client = world.connect(url)
    return [each for each in world.do(client.doctor) if each.code == "names"]


def test_a_name_with_and_without_braces(world: World, sound_url: str) -> None:
    client = world.connect(sound_url)
    holds = [world.do(client.fair_lock(name).acquire) for name in ("a", "{a}", "b")]
    (finding,) = colliding(world, sound_url)
    for hold in holds:
        world.do(hold.release)

    assert finding.severity == "serious"
    assert "'a' and '{a}' are both in use" in finding.message
    assert colliding(world, sound_url) == []


def test_keys_of_other_programs_are_no_names(
    world: World, sound: RedisServer, sound_url: str
) -> None:
    with raw(sound.port) as other:
        other.mset({"a": "x", "{a}": "y", "caf\u00e9": 1, "cafe\u0301": 2})
        other.hset("{h}:timeout", "field", 1)

    assert colliding(world, sound_url) == []


def test_a_lock_named_like_what_belongs_to_another(world: World, sound_url: str) -> None:
    client = world.connect(sound_url)
    hold = world.do(client.lock("{gpu}:timeout").acquire)
    (finding,) = colliding(world, sound_url)
    world.do(hold.release)

    assert "where Redisson's rule keeps what belongs to 'gpu'" in finding.message


def test_a_semaphore_whose_name_another_program_uses(
    world: World, sound: RedisServer, sound_url: str
) -> None:
    client = world.connect(sound_url)
    world.do(world.do(client.semaphore("jobs", permits=2).acquire).release)
    assert colliding(world, sound_url) == []
    with raw(sound.port) as other:
        other.delete("jobs")
        other.rpush("jobs", "first")
    (finding,) = colliding(world, sound_url)

    assert "'jobs' is in use as a semaphore" in finding.message
    assert "another program keeps a list there" in finding.message


def test_what_belongs_to_a_lock_is_no_collision(
    world: World, sound: RedisServer, sound_url: str
) -> None:
    """Every kind in use, with waiters: queues, scores, counters, markers and leased permits."""
    first, second = (world.connect(sound_url) for _ in range(2))
    holds = [world.do(sort.make(first, name).acquire) for name, sort in SORTS.items()]
    waiting = [world.start(sort.make(second, name).acquire) for name, sort in BUSY.items()]
    world.do(lambda: first.latch("latch").start(2))
    with raw(sound.port) as peek:
        eventually(lambda: peek.llen("redisson_lock_queue:{fair_lock}") == 1)
        eventually(lambda: len(peek.keys("interlock:queue:*")) >= len(BUSY) - 1)
    assert colliding(world, sound_url) == []
    for hold in holds:
        world.do(hold.release)
    for each in waiting:
        world.do(each.result(10).release)


def test_names_that_look_the_same(world: World, sound_url: str) -> None:
    client = world.connect(sound_url)
    holds = [world.do(client.mutex(name).acquire) for name in ("caf\u00e9", "cafe\u0301")]
    (finding,) = colliding(world, sound_url)
    for hold in holds:
        world.do(hold.release)

    assert finding.severity == "warning"
    assert r"'cafe\u0301' and 'caf\xe9' look the same" in finding.message
