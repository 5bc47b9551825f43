"""What the steps of a downgrade, and of a renewal amid one, make of each answer.  No server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from interlock.backends.zookeeper.namespace import Namespace, Node, OwnNodes
from interlock.backends.zookeeper.rwlocks import ZkRwLocks
from interlock.backends.zookeeper.transport.requests import Answer, Create, Delete, Refusal
from interlock.errors import OutcomeUnknown
from interlock.steps import Steps

OWNER = "00000001-0000-8000-8000-000000000000:16"
BEGIN = "_c_00000001-0000-8000-8000-000000000010-"
READER, WRITER = f"/cache/{BEGIN}__READ__0000000007", f"/cache/{BEGIN}__WRIT__0000000007"

HERE, LATER = 1, 2


@dataclass
class Session:
    session_timeout: float = 10.0

    def alive_since(self, asked: float) -> float:
        return asked


class Desk:
    """The writers of a client, one of whom holds "cache" in the session HERE."""

    def __init__(self) -> None:
        self.nodes: OwnNodes = {}
        self.store = ZkRwLocks("write", Namespace("here", "", self.nodes, Session()))
        self.nodes[OWNER, "/cache"] = Node(WRITER, 70, HERE)

    def downgrade(self) -> Steps[bool]:
        return self.store.downgrade("cache", OWNER, 10.0, 99.0)

    def renew(self) -> Any:
        return self.store.renew([("cache", OWNER)], 10.0, 99.0)

    @property
    def held(self) -> Node | None:
        return self.nodes.get((OWNER, "/cache"))


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
    assert (desk.held.path, desk.held.token, desk.held.unanswered) == (READER, 70, False)


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
    asks(steps, (READER, None), Refusal.MISSING)
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

    (asked,) = asks(steps, Refusal.THERE, Refusal.MISSING)
    assert asked.path == "/interlock:revoked/" + BEGIN[3:-1]
    if not reason:
        assert result(steps, Refusal.MISSING) is True
        assert desk.held is not None and desk.held.unanswered
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

    (listed,) = asks(renewal, None, Refusal.MISSING)

    assert listed.path == "/cache"
    assert result(renewal, [each.rpartition("/")[2] for each in left]) == [kept]


def test_renewal_that_finds_nothing_is_a_loss_at_once() -> None:
    renewal = Desk().renew()
    asks(renewal)

    assert result(renewal, None, Refusal.MISSING) == [False]
