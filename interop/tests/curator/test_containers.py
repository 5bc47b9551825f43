"""Directories that the server takes away when nobody stands in them, under the hands of both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError, NotEmptyError

from tests.support.eventually import eventually
from tests.support.zookeepers import ZooKeeperServer

from ...harness.curators import curator
from ...harness.foreign import SOON, Foreign, ForeignError
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..people import Person
from .meeting import EXCLUSIVE, Meeting

pytestmark = meets("Curator")

#: How often each of them takes what vanishes between two of them.
ROUNDS = 25

each_kind = pytest.mark.parametrize(("kind", "terms"), EXCLUSIVE)

#: What a semaphore knows of its permits stays, and its directory with it.
COUNTED = ("semaphore", "leased")


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """A server that looks for empty containers ten times a second, and not once a minute."""
    quickly = {"znode.container.checkIntervalMs": 100, "znode.container.maxPerMinute": 600_000}
    with ZooKeeperServer(system=quickly) as server:
        yield server


@pytest.fixture(scope="module")
def jvm(zookeeper: ZooKeeperServer) -> Iterator[Foreign]:
    with curator(zookeeper.hosts) as jvm:
        yield jvm


def reaped(meeting: Meeting, kind: str) -> bool:
    """Whether nothing is left there but what says how many permits there are."""
    if kind not in COUNTED:
        return meeting.peek.exists(meeting.path) is None
    return set(meeting.peek.get_children(meeting.path)) <= {"count", "leased"}


@each_kind
@meets(direction=TO_THEM)
def test_directories_of_ours_are_reaped_and_java_begins_again(
    kind: str, terms: Any, meeting: Meeting
) -> None:
    """Only containers are; the numbers then begin again, but the tokens go on."""
    ours, java = meeting.ours(kind, **terms), meeting.java(kind, **terms)
    ours.take()
    ours.give()
    eventually(lambda: reaped(meeting, kind), SOON)
    java.take()
    assert meeting.nodes()[-1].endswith("0000000000")
    assert java.token > ours.token


@each_kind
@meets(direction=TO_US)
def test_we_begin_again_where_javas_directories_were_reaped(
    kind: str, terms: Any, meeting: Meeting
) -> None:
    """The same objects of ours, before and after; Java has been there in between."""
    ours, java = meeting.ours(kind, **terms), meeting.java(kind, **terms)
    tokens = []
    for person in (ours, java, ours):
        person.take()
        assert meeting.nodes()[-1].endswith("0000000000")
        tokens.append(person.token)
        person.give()
        eventually(lambda: reaped(meeting, kind), SOON)
    assert tokens == sorted(set(tokens))


class Room:
    """What is guarded: whoever enters finds nobody."""

    def __init__(self) -> None:
        self.inside: set[Person] = set()
        self.crowds: list[int] = []

    def visit(self, person: Person) -> None:
        self.inside.add(person)
        self.crowds.append(len(self.inside))
        self.inside.remove(person)

    def often(self, person: Person, reaper: Reaper) -> None:
        for _ in range(ROUNDS):
            insist(person)
            self.visit(person)
            person.give()
            reaper.pause()


def insist(person: Person) -> None:
    """Take it; of ours no error is accepted, but Curator's semaphores give up too soon.

    They make a missing directory once, and raise when it vanishes again before the lease is in it.
    """
    while True:
        try:
            person.take()
        except ForeignError as error:
            assert error.kind == "NoNodeException"
        else:
            return


class Reaper(threading.Thread):
    """Takes empty directories away without pause, as the server does now and then."""

    def __init__(self, remove: Callable[[str], Any], paths: list[str]) -> None:
        super().__init__(daemon=True)
        self._remove, self._paths, self._over = remove, paths, threading.Event()
        self._news = threading.Condition()
        self.taken = 0

    def pause(self) -> None:
        """Wait until something was taken away, or not at all long if others are in it."""
        with self._news:
            self._news.wait(0.05)

    def run(self) -> None:
        while not self._over.is_set():
            for path in self._paths:
                self.taken += self._try(path)

    def _try(self, path: str) -> bool:
        try:
            self._remove(path)
        except (NoNodeError, NotEmptyError):
            return False
        with self._news:
            self._news.notify_all()
        return True

    def __enter__(self) -> Reaper:
        self.start()
        return self

    def __exit__(self, *exit: object) -> None:
        self._over.set()
        self.join()


@each_kind
@meets(direction=BOTH)
def test_directories_that_vanish_between_two_turns_disturb_nobody(
    kind: str, terms: Any, meeting: Meeting
) -> None:
    people, room = [meeting.person(side, kind, **terms) for side in "JP"], Room()
    paths = [meeting.path + each for each in ("/leases", "/locks", "")]
    with ThreadPoolExecutor(len(people)) as pool, Reaper(meeting.peek.delete, paths) as reaper:
        for visits in [pool.submit(room.often, person, reaper) for person in people]:
            visits.result(4 * SOON)
    assert room.crowds == [1] * (ROUNDS * len(people))
    assert reaper.taken >= ROUNDS / 2
