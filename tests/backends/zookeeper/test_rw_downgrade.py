"""A writer that reads on: it keeps its place, whatever is lost on the way."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from interlock import LockLost, StoreError
from interlock.backends.zookeeper.ground import Ground
from interlock.backends.zookeeper.nodes import Node, Nodes
from interlock.backends.zookeeper.rw import ZkRw
from interlock.backends.zookeeper.wire import Answer, Create, Delete, No
from interlock.errors import OutcomeUnknown
from interlock.steps import Steps
from interlock.testing.frames import ZkProxy

from ..redis.worlds import World
from .test_rw import java, nodes, peek, queued, tries, world

__all__ = ["peek", "world"]


def writes(world: World, url: str) -> Any:
    return world.do(world.connect(url).rwlock("cache").write().acquire)


# --- its place --------------------------------------------------------------------------------


@pytest.mark.server
def test_reader_bears_the_number_of_the_writer(world: World, zk_url: str, peek: Any) -> None:
    java(peek, "__READ__")
    peek.delete(f"/cache/{peek.get_children('/cache')[0]}")
    hold = writes(world, zk_url)
    (writer,) = peek.get_children("/cache")
    session = peek.exists(f"/cache/{writer}").ephemeralOwner
    token = hold.token

    world.do(hold.downgrade)

    (reader,) = peek.get_children("/cache")
    assert reader == writer.replace("__WRIT__", "__READ__")
    assert reader.endswith("__READ__0000000001")
    data, stat = peek.get(f"/cache/{reader}")
    assert (data, stat.ephemeralOwner) == (b"", session)
    assert hold.token == token < stat.czxid
    world.do(hold.release)
    assert nodes(peek) == []


@pytest.mark.server
def test_downgrade_costs_one_round_trip(
    world: World, zk_proxy: ZkProxy, zk_path: str, peek: Any
) -> None:
    hold = writes(world, zk_proxy.url(zk_path))
    zk_proxy.delay(up=0.02, down=0.02)
    zk_proxy.mark()

    world.do(hold.downgrade)

    ours = [each for each in zk_proxy.requests if each in ("create2", "delete", "multi")]
    assert ours == ["create2", "delete"]
    zk_proxy.mark()
    world.do(hold.release)
    assert zk_proxy.requests[-1] == "delete"
    assert nodes(peek) == []


@pytest.mark.server
def test_readers_up_to_the_next_writer_are_let_in(world: World, zk_url: str, peek: Any) -> None:
    hold = writes(world, zk_url)
    waiting = []
    for mode in ("read", "write", "read"):
        side = getattr(world.connect(zk_url).rwlock("cache"), mode)()
        waiting.append(world.start(side.acquire))
        queued(peek, len(waiting) + 1)
    before, writer, behind = waiting

    world.do(hold.downgrade)
    reading = before.result(20)
    assert tries(world, world.connect(zk_url).rwlock("cache").read()) is None
    assert not writer.done() and not behind.done()

    world.do(hold.release)
    world.do(reading.release)
    writing = writer.result(20)
    assert writing.token > hold.token
    assert not behind.done()
    world.do(writing.release)
    assert behind.result(20).token > writing.token


@pytest.mark.server
def test_writer_of_java_waits_until_the_reader_has_gone(
    world: World, zk_url: str, peek: Any
) -> None:
    hold = writes(world, zk_url)
    java(peek, "__WRIT__")

    world.do(hold.downgrade)

    assert nodes(peek) == ["__READ__0000000000", "__WRIT__0000000001"]


# --- lost on the way --------------------------------------------------------------------------


@pytest.mark.server
@pytest.mark.parametrize("what", ["request", "reply"])
@pytest.mark.parametrize("of", ["create2", "delete"])
def test_downgrade_is_said_until_it_is_heard(
    world: World, zk_proxy: ZkProxy, zk_path: str, zk_url: str, peek: Any, what: str, of: str
) -> None:
    hold = writes(world, zk_proxy.url(zk_path))
    getattr(zk_proxy, f"lose_{what}")(of)

    world.do(hold.downgrade)

    assert zk_proxy.fired == 1
    assert (hold.mode, nodes(peek)) == ("read", ["__READ__0000000000"])
    world.do(tries(world, world.connect(zk_url).rwlock("cache").read()).release)
    world.do(hold.release)
    assert nodes(peek) == []


@pytest.mark.server
def test_half_a_downgrade_leaves_one_writer_and_then_nothing(
    world: World, zk_proxy: ZkProxy, zk_path: str, peek: Any, zk_url: str
) -> None:
    hold = writes(world, zk_proxy.url(zk_path))
    zk_proxy.lose_request("delete", times=3)

    with pytest.raises(StoreError, match="not confirmed"):
        world.do(hold.downgrade)

    assert nodes(peek) in ([f"__{each}__0000000000" for each in pair] for pair in TWINS)
    info = world.do(lambda: world.connect(zk_url).inspect("cache"))
    assert [(each.owner, each.mode) for each in info.holders] == [(hold.owner, "write")]
    assert info.waiters == 0
    world.do(hold.release)
    assert nodes(peek) == []


TWINS = [("READ", "WRIT"), ("WRIT", "READ")]


@pytest.mark.server
def test_writer_whose_node_was_taken_away_cannot_read_on(
    world: World, zk_url: str, peek: Any
) -> None:
    hold = writes(world, zk_url)
    peek.delete(f"/cache/{peek.get_children('/cache')[0]}")

    with pytest.raises(LockLost):
        world.do(hold.downgrade)

    assert nodes(peek) == []


# --- what is decided without a server ---------------------------------------------------------

OWNER = "00000001-0000-8000-8000-000000000000:16"
BEGIN = "_c_00000001-0000-8000-8000-000000000010-"
READER, WRITER = f"/cache/{BEGIN}__READ__0000000007", f"/cache/{BEGIN}__WRIT__0000000007"

HERE, LATER = 1, 2


class Session(NamedTuple):
    session_timeout: float = 10.0


class Desk:
    """The writers of a client, one of whom holds "cache" in the session HERE."""

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.store = ZkRw("write", Ground("here", "", self.nodes, Session()))
        self.nodes.note(OWNER, "/cache", Node(WRITER, 70, HERE))

    def downgrade(self) -> Steps[bool]:
        return self.store.downgrade("cache", OWNER, 10.0, 99.0)

    def renew(self) -> Any:
        return self.store.renew([("cache", OWNER)], 10.0, 99.0)

    @property
    def held(self) -> Node | None:
        return self.nodes.get(OWNER, "/cache")


def asks(steps: Steps[Any], *replies: Any, session: int = HERE) -> Any:
    """What the steps ask next, given the answers to what they asked before."""
    sent: Any = [Answer(each, session) for each in replies] if replies else None
    return [call.operation for call in steps.send(sent).calls]  # type: ignore[union-attr]


def result(steps: Steps[Any], *replies: Any, session: int = HERE) -> Any:
    with pytest.raises(StopIteration) as stopped:
        asks(steps, *replies, session=session)
    return stopped.value.value


def test_downgrade_asks_for_the_reader_before_the_writer_goes() -> None:
    desk = Desk()
    steps = desk.downgrade()

    assert asks(steps) == [Create(READER, b"", 1), Delete(WRITER)]
    assert result(steps, (READER, None), None) is True
    assert desk.held is not None
    assert (desk.held.path, desk.held.token, desk.held.doubted) == (READER, 70, False)


def test_downgrade_in_another_session_is_a_loss_and_is_cleared_away() -> None:
    desk = Desk()
    steps = desk.downgrade()
    asks(steps)

    asks(steps, (READER, None), None, session=LATER)
    children = [READER.rpartition("/")[2], f"{BEGIN}x"]
    assert asks(steps, None, children, session=LATER) == [
        Delete(READER),
        Delete(f"/cache/{BEGIN}x"),
    ]
    assert result(steps, None, None) is False
    assert desk.held is None


def test_what_is_left_of_a_vain_downgrade_is_never_taken_for_a_hold() -> None:
    desk = Desk()
    steps = desk.downgrade()
    asks(steps)
    asks(steps, (READER, None), No.MISSING)
    with pytest.raises(OutcomeUnknown):
        steps.send([OutcomeUnknown("lost"), OutcomeUnknown("lost")])

    again = desk.downgrade()
    asks(again)
    assert asks(again, None, [READER.rpartition("/")[2]]) == [Delete(READER)]
    assert result(again, None) is False


@pytest.mark.parametrize("reason", [b"", b"revoked by an operator"])
def test_downgrade_that_was_heard_before_stands_unless_somebody_revoked_it(reason: bytes) -> None:
    desk = Desk()
    lost = desk.downgrade()
    asks(lost)
    with pytest.raises(OutcomeUnknown):
        lost.send([OutcomeUnknown("lost"), OutcomeUnknown("lost")])
    steps = desk.downgrade()
    asks(steps)

    (asked,) = asks(steps, No.THERE, No.MISSING)
    assert asked.path == "/interlock:revoked/" + BEGIN[3:-1]
    if not reason:
        assert result(steps, No.MISSING) is True
        assert desk.held is not None and desk.held.doubted
        return
    asks(steps, (reason, None))
    assert asks(steps, None, [READER.rpartition("/")[2]]) == [Delete(READER)]
    assert result(steps, None) is False


@pytest.mark.parametrize(("left", "kept"), [([READER], True), ([], False)])
def test_renewal_amid_a_downgrade_looks_for_the_reader(left: list[str], kept: bool) -> None:
    """The writer's node may go between the keeper's decision to look at it and the look."""
    desk = Desk()
    renewal = desk.renew()
    asks(renewal)
    turning = desk.downgrade()
    asks(turning)

    (listed,) = asks(renewal, None, No.MISSING)

    assert listed.path == "/cache"
    assert result(renewal, [each.rpartition("/")[2] for each in left]) == [kept]


def test_renewal_that_finds_nothing_is_a_loss_at_once() -> None:
    renewal = Desk().renew()
    asks(renewal)

    assert result(renewal, None, No.MISSING) == [False]
