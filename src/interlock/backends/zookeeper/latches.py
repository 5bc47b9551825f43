"""Latches: nobody holds anything; everybody waits until one node has gone.

Curator has no latch that counts, so the layout is ours.  While a latch counts there is a
persistent node `<path>/latch`, and its parents are containers.  It holds JSON:

    {"count": 2, "counted": ["0190f1a2-…", …]}

`count` is how many are still to be counted down, and at least one: whoever counts the last one
takes the node away, and a latch without its node is down.  `counted` has the UUIDs of those who
counted last, 512 at most, so that a count whose answer was lost is not counted twice.  Every
change names the version that it was made of, and is made again of what is there if somebody was
quicker.

Who waits watches the list of the directory and not the node, and so hears of the last count
alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import StoreError, StoreMisconfigured, StoreUnavailable
from ...ledger import OtherKind
from ...model import MARKS, Busy, LockInfo, validity
from ...steps import Steps, nothing
from .folder import VANISHED, ask, parents
from .ground import Ground
from .kinds import LATCH, check
from .names import uuid_of
from .wire import PERSISTENT, Answer, Ask, Children, Create, Delete, Get, No, Put

#: How many of those who counted are remembered.
REMEMBERED = 512

#: How often others may be quicker before we say so; each time one of them has counted.
RACES = 1000

#: Of a latch nobody holds anything, so there is nothing to fence.
NO_TOKEN = 0


class Count(NamedTuple):
    """What the node of a latch says, and which version of which node."""

    left: int
    counted: tuple[str, ...] = ()
    version: int = 0
    born: int = 0

    def packed(self) -> bytes:
        return json.dumps({"count": self.left, "counted": self.counted}).encode()

    def less(self, uuid: str) -> Count:
        """The same after one more has counted."""
        return Count(self.left - 1, (*self.counted, uuid)[-REMEMBERED:])


def read(data: bytes) -> Count | None:
    """What a node says; None if it is not of a latch.  Pure."""
    try:
        told = json.loads(data)
        left, counted = int(told["count"]), tuple(map(str, told["counted"]))
    except (ValueError, TypeError, LookupError):
        return None
    return Count(left, counted)


class ZkLatches:
    """See `stores.LatchStore`.  Every operation is one round trip; to count down is two, and
    one more for each who was quicker, and the first to set a latch takes two.

    The store remembers nobody who waits, so there is nothing to withdraw or to give back.
    """

    kind, mark = "latch", MARKS["latch"]
    reentrant, shared, mortal, trips = False, True, True, 2

    def __init__(self, ground: Ground) -> None:
        self._ground, self.label = ground, ground.label
        #: Who may have counted which latch, without having heard of it.
        self._doubted: dict[str, int] = {}

    def waiting(self, timeout: float) -> ZkLatches:
        return self

    def good_until(self, asked: float, lease: float) -> float:
        return validity(asked, lease)

    def trusted(self, lease: float) -> float:
        return lease

    def _path(self, name: str) -> str:
        return f"{self._ground.path_of(name)}/{LATCH}"

    # --- setting ------------------------------------------------------------------------

    def set_count(self, name: str, count: int, until: float) -> Steps[bool]:
        folder = self._ground.path_of(name)
        create = Create(self._path(name), Count(count).packed(), PERSISTENT)
        asks: list[Ask] = [create, Children(folder)]
        for _ in range(VANISHED):
            *_, created, listed = yield from ask(name, asks, until)
            if created.value is No.THERE:
                yield from self._look_at(name, until)  # which may be no latch at all
                return False
            if created.value is not No.MISSING:
                yield from self._alone(name, listed, until)
                return True
            asks = [*parents(folder), create, Children(folder)]
        raise StoreUnavailable(f"the directory of {name!r} keeps vanishing: {folder}", self.label)

    def _alone(self, name: str, listed: Answer, until: float) -> Steps[None]:
        """Raise if the name is in use as something else; what we made then goes again."""
        try:
            yield from self._check(name, listed, until)
        except OtherKind:
            yield from ask(name, [Delete(self._path(name))], until)
            raise

    def _check(self, name: str, listed: Answer, until: float) -> Steps[None]:
        if listed.value is not No.MISSING:
            others = [child for child in listed.value if child != LATCH]
            yield from check(self._ground, name, others, self.kind, until)

    def open(self, name: str, until: float) -> Steps[None]:
        yield from ask(name, [Delete(self._path(name))], until)

    # --- counting -----------------------------------------------------------------------

    def count_down(self, name: str, owner: str, until: float) -> Steps[int]:
        count = yield from self._look_at(name, until)
        for _ in range(RACES):
            if count is None or self._doubted.get(owner, count.born) != count.born:
                self._doubted.pop(owner, None)
                return 0  # the latch that we meant is down, whatever was set since then
            if uuid_of(owner) in count.counted:
                self._doubted.pop(owner, None)
                return count.left
            self._doubt(owner, count)
            change = self._change(name, count, owner)
            changed, again = yield from ask(name, [change, Get(self._path(name))], until)
            self._doubted.pop(owner, None)
            if not isinstance(changed.value, No):
                return count.left - 1
            count = self._read(name, again)
        raise StoreUnavailable(f"latch {name!r} is counted down too fast: ask again", self.label)

    def _change(self, name: str, count: Count, owner: str) -> Ask:
        if count.left <= 1:
            return Delete(self._path(name), count.version)
        return Put(self._path(name), count.less(uuid_of(owner)).packed(), count.version)

    def _doubt(self, owner: str, count: Count) -> None:
        """Note which latch is about to be counted, in case that the answer does not come.

        Whoever gives up never asks again, so the oldest make room.
        """
        self._doubted[owner] = count.born
        if len(self._doubted) > REMEMBERED:
            self._doubted.pop(next(iter(self._doubted)), None)

    # --- looking ------------------------------------------------------------------------

    def _look_at(self, name: str, until: float, topic: Any = None) -> Steps[Count | None]:
        """How far a latch has counted; None when it is down.  One round trip."""
        listing = Children(self._ground.path_of(name), topic)
        listed, told = yield from ask(name, [listing, Get(self._path(name))], until)
        yield from self._check(name, listed, until)
        return self._read(name, told)

    def _read(self, name: str, answer: Answer) -> Count | None:
        if answer.value is No.MISSING:
            return None
        data, stat = answer.value
        if (count := read(data)) is None:
            raise StoreMisconfigured(
                f"{self._path(name)} says nothing of a count, so {name!r} cannot be a latch: "
                "choose another name",
                self.label,
            )
        return count._replace(version=stat.version, born=stat.czxid)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        topic = self._ground.path_of(name) if waits else None
        count = yield from self._look_at(name, until, topic)
        return NO_TOKEN if count is None else Busy(None, None)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return (self._ground.path_of(name),)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        count = yield from self._look_at(name, until)
        return None if count is None else LockInfo(name, self.kind, (), None, count=count.left)

    # --- what only holders need ---------------------------------------------------------

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        """A question that comes late changes nothing, so it need not be refused."""
        yield from nothing()
        return False

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        yield from nothing()
        return True

    def why(self, name: str, owner: str, until: float) -> Steps[str]:
        yield from nothing()
        return ""

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        yield from nothing()
        return [True] * len(holds)
