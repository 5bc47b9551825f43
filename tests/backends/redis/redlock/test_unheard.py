"""A vote is given back though its node did not hear of it at once; in both worlds."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.backends.redis.redlock import link
from tests.support.redlocks import RedlockServers
from tests.support.servers import RedisServer

from ....support.eventually import eventually
from ....support.worlds import World

pytestmark = pytest.mark.server

#: With a name, which a node must have confirmed before a connection is of use.
QUERY = "restart_guard=off&client_name=me"


@pytest.fixture
def three() -> Iterator[RedlockServers]:
    with RedlockServers(3) as servers:
        yield servers


def no_votes(servers: RedlockServers) -> bool:
    return not any(client.exists("name") for client in servers.clients)


def hold_of_all(world: World, client: Any, servers: RedlockServers) -> Any:
    hold = world.do(client.lock("name").acquire)
    eventually(lambda: all(each.exists("name") for each in servers.clients))
    return hold


def cut_and_pause(servers: RedlockServers) -> None:
    """End the connections to a node, which hangs before others can be opened."""
    servers.clients[1].client_kill_filter(_type="normal")
    servers[1].pause()


def ask(world: World, client: Any) -> Any:
    return world.do(world.do(client.lock("other").acquire).release)


def close_while_it_goes_on(world: World, client: Any, node: RedisServer) -> None:
    """Close a client; the node goes on a moment later."""
    later = threading.Timer(0.2, node.resume)
    later.start()
    world.close_client(client)
    later.join()


def test_release_on_new_connections_is_heard_before_the_client_is_closed(
    world: World, three: RedlockServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "KEPT", 0)  # as for each thread beyond the first sixteen
    client = world.connect(three.url(QUERY))
    hold = hold_of_all(world, client, three)
    three[1].pause()
    world.do(hold.release)

    close_while_it_goes_on(world, client, three[1])

    eventually(lambda: no_votes(three))


def test_release_that_a_silent_node_missed_is_heard_before_the_client_is_closed(
    world: World, three: RedlockServers
) -> None:
    client = world.connect(three.url(QUERY))
    hold = hold_of_all(world, client, three)
    cut_and_pause(three)
    world.do(hold.release)

    close_while_it_goes_on(world, client, three[1])

    eventually(lambda: no_votes(three))


def test_release_that_a_silent_node_missed_is_said_again(
    world: World, three: RedlockServers
) -> None:
    client = world.connect(three.url(QUERY))
    hold = hold_of_all(world, client, three)
    cut_and_pause(three)
    world.do(hold.release)
    three[1].resume()

    eventually(lambda: (ask(world, client), no_votes(three))[1])


ENDS = """
import os, signal, sys, threading, interlock
from interlock.backends.redis.redlock import link
link.KEPT = 0
client, node = interlock.connect(sys.argv[1]), int(sys.argv[2])
hold = client.lock("name").acquire()
os.kill(node, signal.SIGSTOP)
hold.release()
threading.Timer(0.2, os.kill, (node, signal.SIGCONT)).start()
"""


def test_release_is_heard_before_the_process_ends(three: RedlockServers) -> None:
    command = [sys.executable, "-c", ENDS, three.url(QUERY), str(three[1].pid)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.stderr, done.returncode) == ("", 0)
    eventually(lambda: no_votes(three))


def test_closing_waits_for_no_node_that_hangs(world: World, three: RedlockServers) -> None:
    client = world.connect(three.url())
    hold_of_all(world, client, three)
    three[1].pause()
    ask(world, client)
    time.sleep(0.4)  # until it is taken to hang
    began = time.monotonic()

    world.close_client(client)

    assert time.monotonic() - began < 0.9
    three[1].resume()
