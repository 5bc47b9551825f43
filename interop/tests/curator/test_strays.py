"""Children that no lock has made: Java counts them, so ours do, and say so where it matters."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreMisconfigured
from interlock.backends.zookeeper import layout
from tests.support.eventually import eventually

from ...harness.foreign import SOON
from ...harness.matrix import BOTH, TO_THEM, meets
from .meeting import Javan, Meeting, Pythonist, newest

pytestmark = [meets("Curator", direction=BOTH), newest]

#: Whether Java waits behind such a child for ever.
STRAYS = {
    "!x": True,
    "-x": True,
    "0": True,
    "0000000000": True,
    "lock-": True,
    "junk": False,
    "zzz": False,
}

mutex = meets(primitive="InterProcessMutex", ours="lock()")

JAVAS = "_c_a3a30f1f-ae02-4944-b84e-7064953fffa9"

#: Numbers as servers give them when they have given 2**31, in the order in which Java sorts them.
WRAPPED = ["-2147483647", "-2147483648", "0000000007", "2147483647"]


@pytest.mark.parametrize("stray", STRAYS)
@mutex
def test_where_java_waits_for_ever_we_say_why(stray: str, meeting: Meeting) -> None:
    meeting.peek.create(f"{meeting.path}/{stray}", b"", makepath=True)
    java, ours = meeting.java("mutex"), meeting.ours("mutex")
    if not STRAYS[stray]:
        java.take()
        assert not ours.tries()
        java.give()
        assert ours.tries()
        return
    assert not java.tries()
    with pytest.raises(StoreMisconfigured, match=f"waits behind {meeting.path}/{stray}"):
        ours.seek().result(SOON)
    eventually(lambda: meeting.peek.get_children(meeting.path) == [stray])
    meeting.peek.delete(f"{meeting.path}/{stray}")
    assert ours.tries()


@pytest.mark.parametrize("part", ["0", "!x", "locks", "leases", "count", "leased", "latch"])
@mutex
def test_lock_of_java_below_ours_does_not_stop_us(part: str, meeting: Meeting) -> None:
    """It is at its own path, which we share, and its directory is nobody in our queue."""
    below = Javan(meeting.cast.actor(), "mutex", f"{meeting.path}/{part}")
    below.take()
    ours = Pythonist(meeting.world, meeting.url, "mutex", f"{meeting.path}/{part}")
    assert not ours.tries()

    assert meeting.ours("mutex").tries()

    below.give()
    assert ours.tries()


@mutex
@meets(direction=TO_THEM)
def test_names_that_curator_cannot_have_do_not_stop_java(meeting: Meeting) -> None:
    for name in ("/b", "./b", "\x01", "😀"):
        Pythonist(meeting.world, meeting.url, "mutex", f"{meeting.path}/{name}").take()

    assert meeting.java("mutex").tries()


@mutex
def test_numbers_past_the_end_are_sorted_as_java_sorts_them(meeting: Meeting) -> None:
    for number in ("0000000007", "-2147483648", "2147483647", "-2147483647"):
        node = f"{meeting.path}/{JAVAS}-lock-{number}"
        meeting.peek.create(node, b"", ephemeral=True, makepath=True)
    eyes = meeting.cast.actor()
    seen = [each.rpartition("/")[2] for each in eyes.ask("mutex", "participants", meeting.path)]
    assert seen == [f"{JAVAS}-lock-{number}" for number in WRAPPED]
    children = meeting.peek.get_children(meeting.path)
    assert layout.ranked(children, layout.MUTEX_CUTS) == seen


@pytest.mark.parametrize("number", WRAPPED[:2])
@mutex
def test_both_sides_wait_behind_a_number_past_the_end(number: str, meeting: Meeting) -> None:
    stranger = f"{meeting.path}/{JAVAS}-lock-{number}"
    meeting.peek.create(stranger, b"", ephemeral=True, makepath=True)
    people = [meeting.person(side, "mutex") for side in "PJ"]
    for person in people:
        assert not person.tries()
        meeting.queue_up(person)
    meeting.peek.delete(stranger)
    for person in people:
        assert person.turn.result(SOON)
        person.give()


@meets(primitive="InterProcessReadWriteLock", ours="rwlock()")
def test_stray_child_stops_the_writers_of_both_sides_and_no_reader(meeting: Meeting) -> None:
    meeting.peek.create(f"{meeting.path}/!x", b"", makepath=True)
    for side in "JP":
        reader = meeting.person(side, "read")
        reader.take()
        reader.give()
    assert not meeting.java("write").tries()
    with pytest.raises(StoreMisconfigured, match="!x"):
        meeting.ours("write").seek().result(SOON)


@pytest.mark.parametrize("stray", ["!x", "zzz"])
@pytest.mark.parametrize(
    ("kind", "terms"),
    [
        pytest.param(
            *("semaphore", {"max": 2}),
            marks=meets(primitive="InterProcessSemaphoreV2", ours="semaphore()"),
        ),
        pytest.param(
            "smutex", {}, marks=meets(primitive="InterProcessSemaphoreMutex", ours="mutex()")
        ),
    ],
)
def test_stray_lease_takes_a_permit_on_both_sides(
    kind: str, terms: Any, stray: str, meeting: Meeting
) -> None:
    """Of two permits one is left; of a mutex none."""
    meeting.peek.create(f"{meeting.path}/leases/{stray}", b"", makepath=True)
    people = [meeting.person(side, kind, **terms) for side in "JP"]
    for person, other in (people, people[::-1]):
        assert person.tries() is (kind == "semaphore")
        assert not other.tries()
        if kind == "semaphore":
            person.give()
    meeting.peek.delete(f"{meeting.path}/leases/{stray}")
    assert people[1].tries()


@mutex
@meets(direction=TO_THEM)
def test_we_leave_no_child_that_java_would_count(meeting: Meeting) -> None:
    """Who is who is told elsewhere, below the chroot but not among the locks."""
    ours, java = meeting.ours("mutex"), meeting.java("mutex")
    ours.take()
    meeting.world.do(lambda: ours.client.revoke(meeting.path, reason="a note for its holder"))
    assert meeting.peek.get_children(meeting.path) == []
    assert java.tries()
