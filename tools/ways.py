"""How far a call travels through the source: functions, files, and changes of file.

    .venv/bin/python -m tools.ways

A way is one call of a user's, on a name that was used before, by a client that is connected.
Counted are the functions of `src/interlock` that the calling thread enters; a generator that goes
on is entered again.  A change of file is what a reader does who follows the calls in their order.
`to the link` counts the same way without what the link does, from a request to its reply.

The exit code is 1 if a ZooKeeper semaphore reaches its limit of changes, counted to the link.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import interlock
from tests.support.eventually import eventually
from tests.support.servers import RedisServer
from tests.support.zookeepers import ZooKeeperServer

#: How often the file must not change while a ZooKeeper semaphore is acquired.
SEMAPHORE_LIMIT = 60

_SOURCE = f"{Path(interlock.__file__).parent}/"


class Entered(NamedTuple):
    """A function that was entered."""

    file: str
    function: str
    #: Whether a link called it, or it is a link's own.
    in_link: bool


class Way:
    """The functions that a thread enters while it is followed."""

    def __init__(self, calls: list[Entered] | None = None) -> None:
        self.calls = calls or []

    @contextmanager
    def followed(self) -> Iterator[None]:
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_SOURCE):
            file = code.co_filename.removeprefix(_SOURCE)
            self.calls.append(Entered(file, code.co_qualname, _is_in_link(frame)))

    @property
    def to_the_link(self) -> Way:
        return Way([call for call in self.calls if not call.in_link])

    @property
    def functions(self) -> int:
        return len(set(self.calls))

    @property
    def files(self) -> int:
        return len({call.file for call in self.calls})

    @property
    def changes(self) -> int:
        return sum(one.file != other.file for one, other in pairwise(self.calls))

    def __str__(self) -> str:
        return f"{self.functions:4} {self.files:4} {self.changes:4}"


def _is_in_link(frame: FrameType | None) -> bool:
    """Every class of a link is named so, and no other."""
    while frame is not None:
        owner, _, method = frame.f_code.co_qualname.partition(".")
        if method and owner.endswith("Link"):
            return True
        frame = frame.f_back
    return False


def enter_and_exit(url: str, make: Callable[[interlock.Client], Any]) -> tuple[Way, Way]:
    """The ways into and out of a block, on a name that was used once before."""
    entering, leaving = Way(), Way()
    with interlock.connect(url) as client:
        with make(client):
            pass
        block = make(client)
        with entering.followed():
            block.__enter__()
        with leaving.followed():
            block.__exit__(None, None, None)
    return entering, leaving


def contended(url: str, name: str) -> Way:
    """The way into a block of a lock that another client releases as soon as one waits."""
    way = Way()
    with interlock.connect(url) as client, interlock.connect(url) as other:
        for each in (client, other):
            with each.lock(name):
                pass
        hold = other.lock(name).acquire()
        releasing = threading.Thread(target=_release_when_wanted, args=(other, hold))
        releasing.start()
        block = client.lock(name)
        with way.followed():
            block.__enter__()
        block.__exit__(None, None, None)
        releasing.join()
    return way


def _release_when_wanted(client: interlock.Client, hold: Any) -> None:
    eventually(lambda: getattr(client.inspect(hold.name), "waiters", 0))
    hold.release()


def zookeeper_semaphore(url: str) -> Way:
    """The way that has a limit."""
    entering, _ = enter_and_exit(url, lambda client: client.semaphore("semaphore", permits=2))
    return entering


def ways(redis: str, sqlite: str, zookeeper: str) -> Iterator[tuple[str, Way]]:
    entering, leaving = enter_and_exit(redis, lambda client: client.lock("lock"))
    yield "redis lock, enter", entering
    yield "redis lock, exit", leaving
    yield "redis lock, contended", contended(redis, "contended")
    yield "sqlite rwlock.write", enter_and_exit(sqlite, lambda c: c.rwlock("rwlock").write())[0]
    yield "zookeeper lock", enter_and_exit(zookeeper, lambda client: client.lock("lock"))[0]
    yield "zookeeper semaphore", zookeeper_semaphore(zookeeper)


def main() -> int:
    print("functions, files, changes of file:", "all of it", "to the link", sep="\t")  # noqa: T201
    way = Way()
    with tempfile.TemporaryDirectory() as folder, RedisServer() as redis, ZooKeeperServer() as zk:
        for name, way in ways(redis.url, f"sqlite://{folder}/ways.db", zk.url("/ways")):
            print(f"{name:34}", way, way.to_the_link, sep="\t")  # noqa: T201
    return int(way.to_the_link.changes >= SEMAPHORE_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
