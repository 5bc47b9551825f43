"""The ZooKeeper servers of the tests: they come, go, and come back with what they knew."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.protocol.serialization import Create2
from kazoo.security import OPEN_ACL_UNSAFE

from tests.support.ensembles import Ensemble
from tests.support.zookeepers import ZooKeeperServer

from .bare import Greeting, bare

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def own() -> Iterator[ZooKeeperServer]:
    """A server that these tests may hurt."""
    with ZooKeeperServer(tick_ms=300, system={"znode.container.checkIntervalMs": 100}) as server:
        yield server


@pytest.fixture(scope="module")
def shared_ensemble() -> Iterator[Ensemble]:
    with Ensemble(3) as ensemble:
        yield ensemble


@pytest.fixture
def ensemble(shared_ensemble: Ensemble) -> Ensemble:
    """Three servers, all of them serving."""
    shared_ensemble.start()
    return shared_ensemble


def test_closed_server_leaves_nothing_behind() -> None:
    with ZooKeeperServer() as server:
        assert server.mode() == "standalone"
        assert server.folder.exists()

    assert not server.running
    assert not server.folder.exists()
    assert server.ask("ruok") == ""


def test_addresses_name_the_port(zookeeper: ZooKeeperServer) -> None:
    assert zookeeper.hosts == f"127.0.0.1:{zookeeper.port}"
    assert zookeeper.url() == f"zk://{zookeeper.hosts}/"
    assert zookeeper.url("a/b") == zookeeper.url("/a/b") == f"zk://{zookeeper.hosts}/a/b"


@pytest.mark.parametrize("end", [ZooKeeperServer.stop, ZooKeeperServer.kill])
def test_ended_server_comes_back_with_its_data(own: ZooKeeperServer, end: Any) -> None:
    port = own.port
    with bare(own.hosts) as client:
        client.create("/kept-by-" + end.__name__, b"this")
    end(own)
    assert own.mode() is None

    own.start()

    assert own.port == port
    with bare(own.hosts) as client:
        assert client.get("/kept-by-" + end.__name__)[0] == b"this"


def test_paused_server_is_silent_until_it_is_resumed(own: ZooKeeperServer) -> None:
    own.pause()
    try:
        assert own.ask("ruok", within=0.2) == ""
    finally:
        own.resume()
    assert own.ask("ruok") == "imok"


def test_sessions_last_from_two_ticks_to_two_minutes(own: ZooKeeperServer) -> None:
    with Greeting(own.port, session_ms=1) as short, Greeting(own.port, 10**6) as long:
        assert short.session()[0] == 600
        assert long.session()[0] == 120_000


def test_system_properties_reach_java(own: ZooKeeperServer) -> None:
    gone = threading.Event()
    with bare(own.hosts) as client:
        create_container(client, "/container")
        client.exists("/container", watch=lambda event: gone.set())
        client.create("/container/child")
        client.delete("/container/child")

        assert gone.wait(timeout=20)


def create_container(client: Any, path: str) -> None:
    done = client.handler.async_result()
    container = type("CreateContainer", (Create2,), {"type": 19})
    client._call(container(path, b"", OPEN_ACL_UNSAFE, 4), done)
    done.get(timeout=10)


def test_port_of_another_server_is_left_to_it(zookeeper: ZooKeeperServer) -> None:
    with ZooKeeperServer(port=zookeeper.port) as second:
        assert second.port != zookeeper.port
        assert second.mode() == "standalone"


def test_missing_java_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    with pytest.raises(RuntimeError, match="ZooKeeper is not installed: apt-get install zook"):
        ZooKeeperServer()

    assert [*tmp_path.iterdir()] == []


def test_tools_need_no_kazoo() -> None:
    lines = "import sys; sys.modules['kazoo'] = None; from tests.support import ensembles, frames"
    subprocess.run([sys.executable, "-c", lines], check=True)


def test_one_leads_and_the_others_follow(ensemble: Ensemble) -> None:
    leader, followers = ensemble.leader(), ensemble.followers()

    assert len(followers) == 2
    assert leader not in followers
    assert ensemble.hosts.split(",") == [member.hosts for member in ensemble.members]
    assert ensemble.url("a") == f"zk://{ensemble.hosts}/a"


def test_another_leads_when_the_leader_is_killed(ensemble: Ensemble) -> None:
    with bare(ensemble.hosts) as client:
        client.create("/known-to-all", b"this")
    first = ensemble.leader()

    first.kill()

    assert ensemble.leader() is not first
    with bare(ensemble.hosts) as client:
        assert client.get("/known-to-all")[0] == b"this"
    first.start()
    assert first.mode() == "follower"


@pytest.mark.slow
def test_another_leads_when_the_leader_is_paused(ensemble: Ensemble) -> None:
    first = ensemble.leader()
    first.pause()
    try:
        assert ensemble.leader() is not first
    finally:
        first.resume()


def test_all_of_them_come_back_together(ensemble: Ensemble) -> None:
    for member in ensemble.members:
        member.stop()

    ensemble.start()

    assert {*ensemble.followers(), ensemble.leader()} == {*ensemble.members}
