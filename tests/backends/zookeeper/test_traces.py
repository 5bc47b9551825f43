"""What a client remembers of owners, and what it says of nodes that it may have left."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

import interlock
from interlock.backends.zookeeper.locks import ZkLocks
from interlock.backends.zookeeper.namespace import Namespace
from interlock.backends.zookeeper.transport.answers import Watches
from interlock.backends.zookeeper.transport.requests import Answer
from interlock.errors import StoreUnavailable
from interlock.parking import ThreadWakes
from tests.recipes.hand import Hand

OWNER = "11111111-1111-8111-8111-000000000000:11"
NODE = "/app/_c_11111111-1111-8111-8111-00000000000b-lock-0000000007"
FIRST = "_c_22222222-2222-4222-8222-222222222222-lock-0000000003"


class Session:
    session_timeout = 10.0

    def alive_since(self, asked: float) -> float:
        return asked


def asked(waits: bool) -> tuple[Hand, Namespace]:
    namespace = Namespace("zk://paper", "", {}, Session())
    return Hand(ZkLocks(namespace).attempt("app", OWNER, 30.0, waits, 1e9)), namespace


def made() -> list[Any]:
    """The answers to a create and a list, with somebody before us."""
    stat = SimpleNamespace(czxid=5, ephemeralOwner=1)
    return [Answer((NODE, stat), 1), Answer([FIRST, NODE.rpartition("/")[2]], 1)]


def test_an_owner_of_whom_nobody_has_heard_is_not_remembered() -> None:
    hand, namespace = asked(waits=False)

    hand.fail(StoreUnavailable("out of reach"))

    assert hand.error is not None
    assert not getattr(hand.error, "partial", None)
    assert (OWNER, "/app") not in namespace.nodes


@pytest.mark.parametrize("waits", [True, False])
def test_a_failure_behind_the_create_says_that_something_is_left(waits: bool) -> None:
    hand, namespace = asked(waits)
    hand.reply(made())  # then the one before us is watched, or a try takes its node away

    hand.fail(StoreUnavailable("out of reach"))

    assert isinstance(hand.error, StoreUnavailable)
    assert hand.error.partial
    assert (OWNER, "/app") in namespace.nodes


# --- what is wanted to be heard ---------------------------------------------------------------


def test_what_nobody_waits_for_is_not_watched_any_more() -> None:
    watches, place = Watches(), ThreadWakes()
    watches.listen("topic", place)
    watches.watch("/a", "topic")
    watches.watch("/b", "topic")

    watches.leave("topic", place)

    assert watches.fired("/a") == watches.fired("/b") == []
    assert not watches._paths
    assert not watches._topics


def test_a_node_that_is_not_there_is_not_watched() -> None:
    watches = Watches()
    watches.watch("/a", "one")
    watches.watch("/a", "two")

    watches.unwatch("/a", "one")

    assert watches.fired("/a") == ["two"]
    assert not watches._topics


def test_waiters_leave_nothing_in_memory(zk_url: str) -> None:
    clients = [interlock.connect(zk_url) for _ in range(2)]
    links: list[Any] = [client._session.link for client in clients]

    def work(client: interlock.Client) -> None:
        for _ in range(100):
            for lock in (client.lock("k"), client.mutex("m"), client.semaphore("s", permits=1)):
                with lock:
                    pass

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [len(link._transport.watches._topics) for link in links] == [0, 0]
    backends: Any = [client._session.backend for client in clients]
    assert [len(backend.namespace.nodes) for backend in backends] == [0, 0]
    for client in clients:
        client.close()
