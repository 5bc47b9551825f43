"""What makes locks over several nodes unsafe: each node is looked at, and their clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import StoreError
from interlock.backends.redis.doctor import EXAMINE
from interlock.backends.redis.doctor import asked as plain
from interlock.backends.redis.redlock import doctor as quorum_doctor
from interlock.backends.redis.scripts import remade
from interlock.steps import Call
from tests.support.redlocks import RedlockServers
from tests.support.servers import RedisServer

from ....support.eventually import eventually
from ....support.worlds import World

pytestmark = pytest.mark.server


def found(world: World, url: str) -> Counter[tuple[str, str]]:
    client = world.connect(url)
    return Counter((each.code, each.severity) for each in world.do(client.doctor))


@pytest.fixture(scope="module")
def sound() -> Iterator[RedlockServers]:
    """Servers that are as they should be."""
    with RedlockServers(3, "--appendonly", "yes") as servers:
        yield servers


def test_sound_servers_give_no_reason_to_speak(world: World, sound: RedlockServers) -> None:
    assert found(world, sound.url("restart_guard=on")) == {}


def test_servers_that_keep_nothing_and_have_no_guard_are_logged_once(
    world: World, redlock_servers: RedlockServers, caplog: pytest.LogCaptureFixture
) -> None:
    url = redlock_servers.url("restart_guard=off")
    client = world.connect(url)
    hold = world.do(client.lock("k").acquire)
    eventually(lambda: client._session._checkup._made)
    world.do(hold.release)
    lines = [line.getMessage() for line in caplog.records if line.name == "interlock.connect"]

    assert found(world, url) == {("persistence", "serious"): 5}
    assert len(lines) == 5
    assert all("leave restart_guard on" in line for line in lines)
    assert found(world, redlock_servers.url("")) == {("persistence", "info"): 5}


def test_a_log_without_a_guard_must_be_whole(world: World, sound: RedlockServers) -> None:
    assert found(world, sound.url("restart_guard=off")) == {("persistence", "info"): 3}


def test_a_server_with_a_replica_may_vote_twice(world: World, sound: RedlockServers) -> None:
    with RedisServer("--replicaof", f"127.0.0.1 {sound[1].port}"):
        eventually(lambda: sound.clients[1].info("replication")["connected_slaves"])
        client = world.connect(sound.url("restart_guard=on"))
        (finding,) = world.do(client.doctor)

    assert (finding.code, finding.severity) == ("replicas", "serious")
    assert str(sound[1].port) in finding.node


@pytest.mark.parametrize(
    ("seconds", "severity"), [(20, "warning"), (-20, "warning"), (60, "serious"), (0, None)]
)
def test_clocks_that_differ(
    world: World,
    sound: RedlockServers,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    severity: str | None,
) -> None:
    text = EXAMINE.text.replace("time[1] *", f"(time[1] + {seconds}) *")
    ahead = remade(EXAMINE, text)

    def asked(until: float, node: Any = None) -> Call:
        call = plain(until, node)
        return call._replace(operation=ahead) if node == 1 else call

    monkeypatch.setattr(quorum_doctor, "asked", asked)
    expected = {} if severity is None else {("clocks", severity): 1}

    assert found(world, sound.url("restart_guard=on")) == expected


def test_a_dead_node_is_named_and_a_dead_majority_is_an_error(world: World) -> None:
    with RedlockServers(3, "--appendonly", "yes") as servers:
        servers[0].kill()
        assert found(world, servers.url("")) == {("unreachable", "warning"): 1}
        servers[1].kill()
        with pytest.raises(StoreError, match="2 of the 3 nodes"):
            world.do(world.connect(servers.url("")).doctor)


def test_names_that_collide_are_told_once(world: World, redlock_servers: RedlockServers) -> None:
    url = redlock_servers.url("restart_guard=off")
    client = world.connect(url)
    holds = [world.do(client.lock(name).acquire) for name in ("a", "{a}")]
    assert found(world, url)["names", "serious"] == 1
    for hold in holds:
        world.do(hold.release)
