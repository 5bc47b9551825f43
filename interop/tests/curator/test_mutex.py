"""Curator's InterProcessMutex and our lock(): what each sees of the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from interlock import AcquireTimeout, NotHeld
from tests.support.eventually import eventually

from ...harness.foreign import SOON, ForeignError
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from .meeting import Meeting, newest

pytestmark = meets("Curator", "InterProcessMutex", "lock()")

#: As Curator names a node that it made under protection; the UUID is of version 8.
OURS = r"_c_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-lock-\d{10}"


@meets(direction=TO_THEM)
def test_java_counts_our_nodes_among_its_own(meeting: Meeting) -> None:
    """Each side has one who holds or waits, in turn; Java's list has all, in their order."""
    people = [meeting.person(side, "mutex") for side in "PJPJ"]
    people[0].take()
    for person in people[1:]:
        meeting.queue_up(person)
    eyes = meeting.cast.actor()
    seen = [each.rpartition("/")[2] for each in eyes.ask("mutex", "participants", meeting.path)]
    assert seen == meeting.inside()
    assert [bool(re.fullmatch(OURS, node)) for node in seen] == [True, False, True, False]
    assert [int(node[-10:]) for node in seen] == [0, 1, 2, 3]


@meets(direction=TO_THEM)
def test_node_of_ours_is_empty_and_ends_with_our_session(meeting: Meeting) -> None:
    ours, eyes = meeting.ours("mutex"), meeting.cast.actor()
    ours.take()
    (node,) = meeting.inside()
    stat = eyes.ask("node", "stat", f"{meeting.path}/{node}")
    assert eyes.ask("node", "data", f"{meeting.path}/{node}") == ""
    assert stat["czxid"] == ours.token
    assert stat["session"] not in ("0", meeting.cast.jvm.ask(kind="peer", verb="session"))
    meeting.world.close_client(ours.client)
    assert eyes.ask("node", "stat", f"{meeting.path}/{node}") is None


@meets(direction=TO_US)
def test_who_waits_is_told_that_java_holds_it(meeting: Meeting) -> None:
    java, ours = meeting.java("mutex"), meeting.ours("mutex")
    java.take()
    (node,) = meeting.inside()
    uuid = node[3:39]
    with pytest.raises(AcquireTimeout, match=uuid[:8]):
        meeting.world.do(lambda: ours.lock.acquire(timeout=0.1))
    info = meeting.world.do(lambda: ours.client.inspect(meeting.path))
    assert [(each.owner, each.token) for each in info.holders] == [(uuid, java.token)]
    assert (info.kind, info.waiters) == ("lock", 0)
    assert meeting.world.do(ours.lock.locked)


@newest
@meets(direction=TO_THEM)
def test_our_inner_releases_free_nothing(meeting: Meeting) -> None:
    """Re-entering is counted here: the tree shows one node, until the last release."""
    ours, java = meeting.ours("mutex"), meeting.java("mutex")
    seen: list[tuple[int, bool]] = []
    nested = {"threads": twice, "tasks": atwice}[meeting.world.name]

    def look() -> None:
        seen.append((len(meeting.inside()), java.tries()))

    meeting.world.do(lambda: nested(ours.lock, look))
    assert seen == [(1, False), (1, False)]
    assert java.tries()


def twice(lock: Any, look: Callable[[], None]) -> None:
    with lock:
        with lock:
            look()
        look()


async def atwice(lock: Any, look: Callable[[], None]) -> None:
    async with lock:
        async with lock:
            look()
        look()


@meets(direction=TO_US)
def test_javas_inner_releases_wake_nobody(meeting: Meeting) -> None:
    java, ours = meeting.java("mutex"), meeting.ours("mutex")
    for _ in range(3):
        java.take()
    meeting.queue_up(ours)
    for _ in range(2):
        java.give()
        assert java.actor.ask("mutex", "owned", meeting.path) is True
        assert not ours.turn.done()
    java.give()
    assert ours.token


@newest
@meets(direction=BOTH)
def test_nobody_can_give_back_what_the_other_side_has(meeting: Meeting) -> None:
    ours, java = meeting.ours("mutex"), meeting.java("mutex")
    ours.take()
    with pytest.raises(ForeignError, match="You do not own the lock"):
        java.give()
    assert len(meeting.inside()) == 1
    ours.give()
    java.take()
    with pytest.raises(NotHeld):
        meeting.world.do(ours.lock.release)
    assert len(meeting.inside()) == 1


@meets(direction=TO_THEM)
def test_java_goes_on_when_one_of_ours_gives_up_in_the_middle(meeting: Meeting) -> None:
    """The one behind had watched the node that goes; it looks again, and waits on."""
    first, java = meeting.ours("mutex"), meeting.java("mutex")
    first.take()
    impatient = meeting.ours("mutex")
    waiting = meeting.world.start(lambda: impatient.lock.acquire(timeout=2.0))
    eventually(lambda: len(meeting.inside()) == 2)
    meeting.queue_up(java)
    with pytest.raises(AcquireTimeout):
        waiting.result(SOON)
    eventually(lambda: len(meeting.inside()) == 2 and java.parked)
    assert not java.turn.done()
    first.give()
    assert java.turn.result(SOON) is True


@meets(direction=TO_US)
def test_we_go_on_when_one_of_java_is_interrupted_in_the_middle(meeting: Meeting) -> None:
    first, impatient, ours = meeting.java("mutex"), meeting.java("mutex"), meeting.ours("mutex")
    first.take()
    meeting.queue_up(impatient)
    meeting.queue_up(ours)
    meeting.cast.jvm.ask(kind="peer", verb="interrupt", whom=impatient.actor.name)
    with pytest.raises(ForeignError, match="InterruptedException"):
        impatient.turn.result(SOON)
    eventually(lambda: len(meeting.inside()) == 2)
    assert not ours.turn.done()
    first.give()
    assert ours.token


@meets(direction=TO_THEM)
def test_whose_node_was_removed_by_hand_has_lost_it(meeting: Meeting) -> None:
    """Java's next one has it at once; ours hears of it, unlike Java's own holders."""
    ours, java = meeting.ours("mutex"), meeting.java("mutex")
    ours.take()
    meeting.queue_up(java)
    meeting.cast.actor().ask("node", "delete", f"{meeting.path}/{meeting.inside()[0]}")
    assert java.turn.result(SOON) is True
    eventually(lambda: ours.hold.lost, SOON)


# --- several at once ---------------------------------------------------------------------------


@pytest.fixture
def names(path: str) -> list[str]:
    """In the order in which ours are taken; Java's callers have to agree on one."""
    return [f"{path}/{each}" for each in "abc"]


@meets(primitive="InterProcessMultiLock", ours="multilock()", direction=TO_THEM)
def test_java_gets_none_of_several_while_we_have_one(meeting: Meeting, names: Any) -> None:
    client, java = meeting.world.connect(meeting.url), meeting.cast.actor()
    hold = meeting.world.do(client.multilock(*names).acquire)
    assert java.ask("multi", "acquire", names=names, ms=10) is False
    assert [len(java.ask("node", "nodes", each)) for each in names] == [1, 1, 1]
    meeting.world.do(hold.release)
    assert java.ask("multi", "acquire", names=names, ms=10) is True


@meets(primitive="InterProcessMultiLock", ours="multilock()", direction=TO_US)
def test_we_get_none_of_several_while_java_has_one(meeting: Meeting, names: Any) -> None:
    java, lock = meeting.cast.actor(), meeting.world.connect(meeting.url).multilock(*names)
    java.ask("mutex", "acquire", names[1])
    assert meeting.world.do(lambda: lock.acquire(blocking=False)) is None
    assert [len(java.ask("node", "nodes", each)) for each in names] == [0, 1, 0]
    java.ask("mutex", "release", names[1])
    java.ask("multi", "acquire", names=names)
    waiting = meeting.world.start(lock.acquire)
    eventually(lambda: len(java.ask("node", "nodes", names[0])) == 2)
    java.ask("multi", "release", names=names)
    assert waiting.result(SOON)
