"""The proxy that knows ZooKeeper's frames: what it counts and loses is what it was told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer, awaited

from .bare import Greeting, bare, states_of

pytestmark = pytest.mark.server


@pytest.fixture
def client(zk_proxy: ZkProxy) -> Iterator[Any]:
    """A bare client that talks through the proxy."""
    with bare(zk_proxy.hosts) as client:
        yield client
        zk_proxy.forget()


@pytest.fixture
def peek(zookeeper: ZooKeeperServer) -> Iterator[Any]:
    """A bare client that knows nothing of the proxy."""
    with bare(zookeeper.hosts) as client:
        yield client


def soon(question: Any) -> Any:
    return awaited(question, 20, lambda: "this did not happen")


# --- what is counted -------------------------------------------------------------------------


def test_requests_are_listed_by_name(client: Any, zk_proxy: ZkProxy, zk_path: str) -> None:
    zk_proxy.mark()
    client.create(zk_path)
    client.create(f"{zk_path}/x", include_data=True)
    client.get_children(zk_path, include_data=True)
    client.sync(zk_path)
    client.delete(f"{zk_path}/x")

    assert zk_proxy.requests == ["create", "create2", "getChildren2", "sync", "delete"]


def test_requests_sent_together_are_one_round_trip(
    client: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    client.create(zk_path)
    zk_proxy.delay(up=0.05, down=0.05)
    zk_proxy.mark()
    made = client.create_async(f"{zk_path}/x", include_data=True)
    listed = client.get_children_async(zk_path)
    made.get(timeout=10)
    listed.get(timeout=10)

    assert zk_proxy.requests == ["create2", "getChildren"]
    assert zk_proxy.round_trips() == 1


def test_requests_sent_one_after_the_other_are_as_many_round_trips(
    client: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    zk_proxy.mark()
    client.create(zk_path)
    client.get_children(zk_path)
    client.delete(zk_path)

    assert zk_proxy.round_trips() == 3


def test_watch_event_passes(client: Any, peek: Any, zk_path: str) -> None:
    seen = threading.Event()
    client.exists(zk_path, watch=lambda event: seen.set())
    peek.create(zk_path)

    assert seen.wait(timeout=10)


def test_pings_and_connects_are_counted_apart(zk_proxy: ZkProxy) -> None:
    with bare(zk_proxy.hosts, session=1.0):
        soon(lambda: zk_proxy.pings)

        assert zk_proxy.requests == []
        assert zk_proxy.round_trips() == 0
        assert zk_proxy.connects == 1
        zk_proxy.mark()
        assert zk_proxy.connects == 0


# --- faults that strike a request ------------------------------------------------------------


def test_request_whose_reply_is_lost_is_executed(
    client: Any, peek: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    session = client.client_id
    zk_proxy.lose_reply("create2")
    with pytest.raises(ConnectionLoss):
        client.create(zk_path, include_data=True)

    assert peek.exists(zk_path)
    assert zk_proxy.fired == 1
    # Only the connection was cut: the session goes on over another.
    assert client.exists(zk_path)
    assert client.client_id == session


def test_lost_request_is_not_executed(
    client: Any, peek: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    zk_proxy.lose_request("create2")
    with pytest.raises(ConnectionLoss):
        client.create(zk_path, include_data=True)

    assert zk_proxy.fired == 1
    assert client.exists(zk_path) is None
    assert peek.exists(zk_path) is None


def test_names_are_whole(client: Any, zk_proxy: ZkProxy, zk_path: str) -> None:
    zk_proxy.lose_reply("create")

    assert client.create(zk_path, include_data=True)[0] == zk_path
    assert zk_proxy.fired == 0


def test_only_the_reply_that_was_chosen_is_lost(
    client: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    zk_proxy.lose_reply("getChildren")
    zk_proxy.delay(up=0.05)
    made = client.create_async(zk_path, include_data=True)
    listed = client.get_children_async(zk_path)

    assert made.get(timeout=10)[0] == zk_path
    with pytest.raises(ConnectionLoss):
        listed.get(timeout=10)


def test_request_held_back_arrives_though_the_client_was_told_otherwise(
    client: Any, peek: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    zk_proxy.hold_back(b"<create>", 0.3, reset=True)
    # A server that sees the session on a new connection closes the old one, unread.
    zk_proxy.refuse()
    with pytest.raises(ConnectionLoss):
        client.create(zk_path)

    assert peek.exists(zk_path) is None
    soon(lambda: peek.exists(zk_path))


# --- faults of the whole network -------------------------------------------------------------


def test_delay_is_a_delay(client: Any, zk_proxy: ZkProxy) -> None:
    zk_proxy.delay(up=0.1, down=0.1)
    began = time.monotonic()
    client.exists("/")

    assert time.monotonic() - began >= 0.2


def test_silence_hides_even_the_end_of_a_session(
    zookeeper: ZooKeeperServer, zk_proxy: ZkProxy
) -> None:
    with Greeting(zk_proxy.port, session_ms=400) as talk:
        _, session = talk.session()
        zk_proxy.silence()
        soon(lambda: session not in zookeeper.ask("cons"))
        with pytest.raises(TimeoutError):
            talk.hear(within=0.2)

        zk_proxy.silence(False)
        assert talk.hear() == b""


def test_answer_is_heard_when_the_silence_ends(
    client: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    zk_proxy.silence()
    made = client.create_async(zk_path)
    soon(lambda: "create" in zk_proxy.requests)
    assert not made.ready()

    zk_proxy.silence(False)
    assert made.get(timeout=10) == zk_path


def test_client_that_gave_up_in_the_silence_was_never_there(zk_proxy: ZkProxy) -> None:
    zk_proxy.silence()
    gone, patient = Greeting(zk_proxy.port), Greeting(zk_proxy.port)
    gone.close()
    with pytest.raises(TimeoutError):
        patient.hear(within=0.2)
    zk_proxy.silence(False)

    assert patient.hear()
    assert zk_proxy.connects == 1
    patient.close()


def test_cut_reaches_a_client_that_came_in_the_silence(zk_proxy: ZkProxy) -> None:
    zk_proxy.silence()
    with Greeting(zk_proxy.port) as talk:
        with pytest.raises(TimeoutError):
            talk.hear(within=0.2)
        zk_proxy.cut()
        with pytest.raises(ConnectionResetError):
            talk.hear()


def test_refused_client_is_reset_and_others_go_on(client: Any, zk_proxy: ZkProxy) -> None:
    zk_proxy.refuse()

    with pytest.raises(ConnectionResetError), Greeting(zk_proxy.port) as talk:
        talk.hear()
    assert client.exists("/")


def test_session_survives_a_cut(client: Any, zk_proxy: ZkProxy) -> None:
    session, states = client.client_id, states_of(client)
    zk_proxy.cut()

    assert states.get(timeout=10) == "SUSPENDED"
    assert states.get(timeout=10) == "CONNECTED"
    assert client.client_id == session
    assert zk_proxy.connects == 2
