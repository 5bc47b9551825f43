"""Latches: nothing is held; every waiter waits until one node has gone.

Curator has no latch that counts, so the layout is Interlock's own.  While a latch counts there is
a persistent node `<path>/latch%`, and its parents are containers; no name of a lock is written
like that, so the directory of a lock `latch` has its place beside it.  The node holds JSON:

    {"count": 2, "counted": ["0190f1a2-…", …]}

`count` is how many are still to be counted down, and at least one: the client that counts the
last one deletes the node, and a latch without its node is down.  `counted` has the UUIDs of the
owners that counted last, 512 at most, so that a count whose answer was lost is not counted twice.
Every change names the version that it was made of; if another client was quicker, it is made
again of what is there.

A waiter watches the list of the directory and not the node, and so is woken by the last count
alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import StoreError, StoreMisconfigured, StoreUnavailable
from ...ledger import OtherKind
from ...model import KIND_CODES, Busy, LockInfo, validity
from ...steps import Steps, nothing
from .kinds import check_kind
from .layout import LATCH, path_of, uuid_of
from .namespace import Namespace
from .queue_nodes import VANISHED, ask, parents, vanishing
from .transport.requests import (
    PERSISTENT,
    Answer,
    Children,
    Create,
    Delete,
    Get,
    Put,
    Refusal,
    ZkRequest,
)

#: How many owners that counted are remembered.
REMEMBERED = 512

#: How often other clients may be quicker until the caller is told; each time one has counted.
RACES = 1000

#: A latch is not held, so there is nothing to fence.
NO_TOKEN = 0


class LatchCount(NamedTuple):
    """What the node of a latch says, and which version of which node."""

    left: int
    counted: tuple[str, ...] = ()
    version: int = 0
    born: int = 0

    def packed(self) -> bytes:
        return json.dumps({"count": self.left, "counted": self.counted}).encode()

    def less(self, uuid: str) -> LatchCount:
        """The same after one more has counted."""
        return LatchCount(self.left - 1, (*self.counted, uuid)[-REMEMBERED:])


def read_latch(data: bytes) -> LatchCount | None:
    """What a node says; None if it is not of a latch.  Pure."""
    try:
        told = json.loads(data)
        left, counted = int(told["count"]), tuple(map(str, told["counted"]))
    except (ValueError, TypeError, LookupError):
        return None
    return LatchCount(left, counted)


class ZkLatches:
    """See `spi.LatchStore`.  Every operation is one round trip; to count down is two, and
    one more for each client that was quicker, and the first to set a latch takes two.

    The store does not remember waiters, so there is nothing to withdraw or to give back.
    """

    kind, kind_code = "latch", KIND_CODES["latch"]
    reentrant, shared, leases_expire = False, True, True
    own_places = takes_turns = False

    def __init__(self, namespace: Namespace) -> None:
        self._namespace, self.label = namespace, namespace.label
        #: Which owner may have counted which latch, in a request that was not answered.
        self._unanswered: dict[str, int] = {}

    def for_wait(self, timeout: float) -> ZkLatches:
        return self

    def valid_until(self, asked: float, lease: float) -> float:
        return validity(asked, lease)

    def effective_lease(self, lease: float) -> float:
        return lease

    def _path(self, name: str) -> str:
        return f"{path_of(name, self._namespace.root)}/{LATCH}"

    # --- setting ------------------------------------------------------------------------

    def set_count(self, name: str, count: int, until: float) -> Steps[bool]:
        folder = path_of(name, self._namespace.root)
        create = Create(self._path(name), LatchCount(count).packed(), PERSISTENT)
        requests: list[ZkRequest] = [create, Children(folder)]
        for _ in range(VANISHED):
            *_, created, listed = yield from ask(name, requests, until)
            if created.value is Refusal.THERE:
                yield from self._look_at(name, until)  # which may be no latch at all
                return False
            if created.value is not Refusal.MISSING:
                yield from self._alone(name, listed, until)
                return True
            requests = [*parents(folder), create, Children(folder)]
        raise vanishing(name, folder, self.label)

    def _alone(self, name: str, listed: Answer, until: float) -> Steps[None]:
        """Raise if the name is in use as something else; the new node is then deleted."""
        try:
            yield from self._check(name, listed, until)
        except OtherKind:
            yield from ask(name, [Delete(self._path(name))], until)
            raise

    def _check(self, name: str, listed: Answer, until: float) -> Steps[None]:
        others = [child for child in listed.children if child != LATCH]
        yield from check_kind(self._namespace, name, others, self.kind, until)

    def open(self, name: str, until: float) -> Steps[None]:
        yield from ask(name, [Delete(self._path(name))], until)

    # --- counting -----------------------------------------------------------------------

    def count_down(self, name: str, owner: str, until: float) -> Steps[int]:
        count = yield from self._look_at(name, until)
        for _ in range(RACES):
            if count is None or self._unanswered.get(owner, count.born) != count.born:
                self._unanswered.pop(owner, None)
                return 0  # the latch that the owner meant is down, whatever was set since then
            if uuid_of(owner) in count.counted:
                self._unanswered.pop(owner, None)
                return count.left
            self._note_unanswered(owner, count)
            change = self._change(name, count, owner)
            changed, again = yield from ask(name, [change, Get(self._path(name))], until)
            self._unanswered.pop(owner, None)
            if not isinstance(changed.value, Refusal):
                return count.left - 1
            count = self._read(name, again)
        raise StoreUnavailable(f"latch {name!r} is counted down too fast: ask again", self.label)

    def _change(self, name: str, count: LatchCount, owner: str) -> ZkRequest:
        if count.left <= 1:
            return Delete(self._path(name), count.version)
        return Put(self._path(name), count.less(uuid_of(owner)).packed(), count.version)

    def _note_unanswered(self, owner: str, count: LatchCount) -> None:
        """Note which latch is about to be counted, in case the answer is lost.

        An owner that gives up never asks again, so the oldest make room.
        """
        self._unanswered[owner] = count.born
        if len(self._unanswered) > REMEMBERED:
            self._unanswered.pop(next(iter(self._unanswered)), None)

    # --- looking ------------------------------------------------------------------------

    def _look_at(self, name: str, until: float, topic: Any = None) -> Steps[LatchCount | None]:
        """How far a latch has counted; None when it is down.  One round trip."""
        listing = Children(path_of(name, self._namespace.root), topic)
        listed, told = yield from ask(name, [listing, Get(self._path(name))], until)
        yield from self._check(name, listed, until)
        return self._read(name, told)

    def _read(self, name: str, answer: Answer) -> LatchCount | None:
        if answer.value is Refusal.MISSING:
            return None
        data, stat = answer.value
        if (count := read_latch(data)) is None:
            raise StoreMisconfigured(
                f"{self._path(name)} holds no count, so {name!r} cannot be a latch: "
                "choose another name",
                self.label,
            )
        return count._replace(version=stat.version, born=stat.czxid)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        topic = path_of(name, self._namespace.root) if waits else None
        count = yield from self._look_at(name, until, topic)
        return NO_TOKEN if count is None else Busy(None, None)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return (path_of(name, self._namespace.root),)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        count = yield from self._look_at(name, until)
        return None if count is None else LockInfo(name, self.kind, (), None, count=count.left)

    # --- what only holders need ---------------------------------------------------------

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        """A request that comes late changes nothing, so it need not be refused."""
        yield from nothing()
        return False

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        yield from nothing()
        return True

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        yield from nothing()
        return ""

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        yield from nothing()
        return [True] * len(holds)
