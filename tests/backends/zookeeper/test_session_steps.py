"""Which answers may grant a lock, decided without a server: those of the node's own session."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import OutcomeUnknown
from interlock.backends.zookeeper.locks import ZkLocks
from interlock.backends.zookeeper.namespace import Namespace, Node, OwnNodes
from interlock.backends.zookeeper.transport.requests import (
    Answer,
    Children,
    Create,
    Delete,
    Exists,
    Get,
    Refusal,
    Sync,
)
from interlock.steps import Steps

OWNER = "00000001-0000-8000-8000-000000000000:16"
BEGIN = "/k/_c_00000001-0000-8000-8000-000000000010-lock-"
OLD, NEW = f"{BEGIN}0000000007", f"{BEGIN}0000000009"
HERE, LATER = 1, 2


class Stat:
    def __init__(self, session: int, czxid: int) -> None:
        self.ephemeralOwner, self.czxid = session, czxid


class Session:
    session_timeout = 10.0

    def alive_since(self, asked: float) -> float:
        return asked


class Desk:
    """The locks of a client, and one attempt of one owner."""

    def __init__(self, *known: Node) -> None:
        self.nodes: OwnNodes = {}
        for node in known:
            self.nodes[OWNER, "/k"] = node
        self.steps: Steps[Any] = ZkLocks(Namespace("here", "", self.nodes, Session())).attempt(
            "k", OWNER, 10.0, True, 99.0
        )

    def asks(self, *replies: Any, session: int = HERE) -> list[Any]:
        """What is asked next, given the answers to what was asked before."""
        sent: Any = [Answer(each, session) for each in replies] if replies else None
        return [call.operation for call in self.steps.send(sent).calls]  # type: ignore[union-attr]

    def hears(self, answers: list[Answer]) -> list[Any]:
        return [call.operation for call in self.steps.send(answers).calls]  # type: ignore[union-attr]

    def granted(self, *replies: Any, session: int = HERE) -> Any:
        with pytest.raises(StopIteration) as stopped:
            self.asks(*replies, session=session)
        return stopped.value.value


def base(path: str) -> str:
    return path.rpartition("/")[2]


def test_list_of_another_session_grants_nobody() -> None:
    desk = Desk(Node(OLD, 70, HERE))
    assert desk.asks() == [Sync("/k", always=False), Children("/k")]

    (asked,) = desk.asks(
        None, [base(OLD)], session=LATER
    )  # the first, but of a session that has gone

    assert asked == Get("/interlock:revoked/00000001-0000-8000-8000-000000000010")
    assert desk.asks(Refusal.MISSING, session=LATER) == [Sync("/k"), Children("/k")]
    assert desk.asks(None, [base(OLD)], session=LATER) == [Exists(OLD)]
    assert desk.asks(Stat(HERE, 70), session=LATER)[0] == Delete(OLD)


def test_create_that_was_answered_in_one_session_and_listed_in_another_grants_nobody() -> None:
    desk = Desk()
    assert desk.asks() == [Create(BEGIN), Children("/k")]

    with pytest.raises(OutcomeUnknown, match="the session ended"):
        desk.hears([Answer((OLD, Stat(HERE, 70)), HERE), Answer([base(OLD)], LATER)])


def test_create_of_a_session_that_was_replaced_before_its_answer_grants_nobody() -> None:
    desk = Desk()
    desk.asks()

    with pytest.raises(OutcomeUnknown, match="the session ended"):
        desk.asks((OLD, Stat(HERE, 70)), [base(OLD)], session=LATER)


def test_create_of_the_session_that_lists_it_is_granted() -> None:
    desk = Desk()
    desk.asks()

    assert desk.granted((NEW, Stat(HERE, 90)), [base(NEW)]) == 90
