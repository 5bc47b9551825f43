"""Curator's InterProcessReadWriteLock and our rwlock() on the same names."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.eventually import eventually

from ...harness.foreign import SOON
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..looking import PROMPTLY
from .meeting import Meeting

pytestmark = meets("Curator", "InterProcessReadWriteLock", "rwlock()")

#: Java's reader and writer, and ours.
PEOPLE = [(side, kind) for side in "JP" for kind in ("read", "write")]

#: Who acts first, by the side of the first.
DIRECTION = {"J": TO_US, "P": TO_THEM}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            one, other, id="-".join([*one, *other]), marks=meets(direction=DIRECTION[one[0]])
        )
        for one, other in product(PEOPLE, PEOPLE)
        if one[0] != other[0]
    ],
)
def test_only_readers_share(
    first: tuple[str, str], second: tuple[str, str], meeting: Meeting
) -> None:
    one, other = meeting.person(*first), meeting.person(*second)
    one.take()
    share = first[1] == second[1] == "read"
    assert other.tries() is share
    assert len(meeting.inside()) == 1 + share
    one.give()
    assert share or other.tries()


@pytest.mark.parametrize("sides", ["JPJP", "PJPJ", "JJPP", "PPJJ"])
@meets(direction=BOTH)
def test_no_reader_overtakes_a_writer_that_waits(sides: str, meeting: Meeting) -> None:
    """Somebody reads; a writer waits; readers of both sides come after it."""
    reader, writer, *late = (
        meeting.person(side, kind)
        for side, kind in zip(sides, ["read", "write", "read", "read"], strict=True)
    )
    reader.take()
    meeting.queue_up(writer)
    for each in late:
        meeting.queue_up(each)
    reader.give()
    assert writer.turn.result(SOON)
    assert not any(each.turn.done() for each in late)
    writer.give()
    assert all(each.turn.result(SOON) for each in late)


@pytest.mark.parametrize("writer", ["J", "P"])
@meets(direction=BOTH)
def test_all_who_wait_to_read_get_in_promptly_after_the_writer(
    writer: str, meeting: Meeting
) -> None:
    holder = meeting.person(writer, "write")
    holder.take()
    readers = [meeting.person(side, "read") for side in "JPJP"]
    for reader in readers:
        meeting.queue_up(reader)
    holder.give()
    for reader in readers:
        assert reader.turn.result(PROMPTLY)
    assert not meeting.java("write").tries()
    assert not meeting.ours("write").tries()
    for reader in readers:
        reader.give()
    eventually(lambda: meeting.inside() == [])


@pytest.mark.parametrize("last", ["J", "P"])
@meets(direction=BOTH)
def test_writer_waits_for_the_last_reader_and_not_longer(last: str, meeting: Meeting) -> None:
    """The readers are one of each side; the last to go is of the other side than the writer."""
    readers = [meeting.person(side, "read") for side in "JP"]
    for reader in readers:
        reader.take()
    writer = meeting.person("P" if last == "J" else "J", "write")
    meeting.queue_up(writer)
    early, late = readers if last == "P" else readers[::-1]
    early.give()
    assert not writer.turn.done()
    late.give()
    assert writer.turn.result(PROMPTLY)


# --- from writing to reading -------------------------------------------------------------------


@meets(direction=TO_THEM)
def test_javas_writer_waits_until_we_have_read_on(meeting: Meeting) -> None:
    """Our reader keeps the number of our writer, so it stays before everybody who waits."""
    ours, writer = meeting.ours("write"), meeting.java("write")
    ours.take()
    token, number = ours.token, meeting.inside()[0][-10:]
    meeting.queue_up(writer)
    meeting.world.do(ours.hold.downgrade)
    reading, waiting = meeting.inside()
    assert reading.endswith(f"-__READ__{number}")
    assert reading[:39] != waiting[:39]
    assert ours.token == token
    data, stat = meeting.peek.get(f"{meeting.path}/{reading}")
    assert data == b""
    assert stat.ephemeralOwner not in (0, meeting.javas_session)
    # It has looked again, and sleeps for somebody else now.
    eventually(lambda: meeting.javas_session in meeting.watchers(reading))
    assert not writer.turn.done()
    ours.give()
    assert writer.turn.result(SOON) is True
    assert writer.token > token


@meets(direction=TO_THEM)
def test_javas_reader_reads_promptly_beside_us_after_our_downgrade(meeting: Meeting) -> None:
    ours, reader = meeting.ours("write"), meeting.java("read")
    ours.take()
    meeting.queue_up(reader)
    meeting.world.do(ours.hold.downgrade)
    assert reader.turn.result(PROMPTLY) is True
    assert not meeting.java("write").tries()
    assert not meeting.ours("write").tries()


@meets(direction=TO_US)
def test_our_writer_waits_until_java_has_read_on_unless_it_is_of_5_4_0(
    meeting: Meeting, version: str
) -> None:
    """That one lets any writer in: its reader stands behind those who waited meanwhile."""
    java, writer = meeting.java("write"), meeting.ours("write")
    java.take()
    meeting.queue_up(writer)
    java.actor.ask("read", "acquire", meeting.path)
    reading = java.actor.ask("read", "path", meeting.path).rpartition("/")[2]
    java.give()
    if version == "debian":
        assert writer.token
        assert java.actor.ask("read", "owned", meeting.path) is True
        return
    eventually(lambda: meeting.watchers(reading))
    assert not writer.turn.done()
    java.actor.ask("read", "release", meeting.path)
    assert writer.token


@meets(direction=TO_US)
def test_we_read_promptly_beside_java_that_reads_on_after_writing(meeting: Meeting) -> None:
    """With either version: both stand before us, and neither writes."""
    java, reader = meeting.java("write"), meeting.ours("read")
    java.take()
    java.actor.ask("read", "acquire", meeting.path)
    meeting.queue_up(reader)
    java.give()
    assert reader.turn.result(PROMPTLY)
    assert not meeting.ours("write").tries()
