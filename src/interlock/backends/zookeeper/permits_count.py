"""How many permits there are: Curator's SharedCount, four bytes beside the two directories.

Whoever comes first says it, and from then on the name is a semaphore for good.  Before that
somebody may use it as a mutex, which leaves nothing but nodes; so it is looked at before the
number is written, and once more behind it, because others may come in between.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import StoreError, StoreMisconfigured, StoreUnavailable
from ...ledger import UNSET, refusal
from ...model import MARKS
from ...steps import Steps
from . import names
from .folder import VANISHED, ask, parents
from .kinds import COUNT, LEASED, LEASES, LOCKS, in_use, use_of, use_of_permits
from .wire import PERSISTENT, Answer, Ask, Children, Create, Delete, Get, No, Put

#: Where each kind says how many permits it has.
PLACES = {"semaphore": COUNT, "leased_semaphore": LEASED}

_COUNT = struct.Struct(">i")


class Count(NamedTuple):
    """Where the permits of a name are counted, and as what."""

    name: str
    path: str
    kind: str
    store: str

    @property
    def place(self) -> str:
        return f"{self.path}/{PLACES[self.kind]}"

    def read(self, value: Any) -> int:
        """The number that was found there; none that is negative lets anybody in."""
        try:
            (number,) = _COUNT.unpack(value[0])
        except struct.error:
            raise StoreMisconfigured(
                f"{self.place} holds {len(value[0])} bytes, and a number of permits has four: "
                "choose another name",
                self.store,
            ) from None
        return max(0, int(number))

    def lists(self) -> list[Ask]:
        """What tells as what else the name may be in use."""
        return [Children(each) for each in (self.path, *self.parts)]

    @property
    def parts(self) -> tuple[str, str]:
        return f"{self.path}/{LOCKS}", f"{self.path}/{LEASES}"

    def check(self, listed: Sequence[Answer]) -> StoreError | None:
        """What to say where the name is something else."""
        children, *parts = [() if each.value is No.MISSING else each.value for each in listed]
        others = [each for each in children if f"{self.path}/{each}" != self.place]
        use = other_use(others, [node for part in parts for node in part], self.kind)
        return None if use is None else in_use(self.name, use, self.kind, self.store)


def other_use(children: Sequence[str], nodes: Sequence[str], kind: str) -> str | None:
    """As what else a name is in use, by its children and the nodes of its two parts.  Pure.

    Java's nodes are whatever we are.
    """
    use = use_of(children)
    if use is None:
        ours = [each for each in nodes if names.is_ours(each)]
        use = use_of_permits([node for node in ours if names.owner_of(node)[-1] != MARKS[kind]])
    return None if use == kind else use


def begin(count: Count, permits: int | None, until: float) -> Steps[int]:
    """Say how many permits there are, unless somebody has; answers how many.  Two round trips."""
    for _ in range(VANISHED):
        yield from _check(count, until)
        if permits is None:
            raise refusal(count.name, count.kind, (UNSET,), count.store)
        written = yield from _write(count, permits, until)
        if written is not None:
            return written
    raise StoreUnavailable(f"the directory of {count.name!r} keeps vanishing: {count.path}")


def _check(count: Count, until: float) -> Steps[None]:
    error = count.check((yield from ask(count.name, count.lists(), until)))
    if error is not None:
        raise error


def _write(count: Count, permits: int, until: float) -> Steps[int | None]:
    create = Create(count.place, _COUNT.pack(permits), PERSISTENT)
    asks = [*parents(count.path), create, Get(count.place), *count.lists()]
    answers = yield from ask(count.name, asks, until)
    created, told, *listed = answers[len(parents(count.path)) :]
    if (error := count.check(listed)) is not None:
        if created.value is not No.THERE:
            yield from ask(count.name, [Delete(count.place)], until)
        raise error
    return None if told.value is No.MISSING else count.read(told.value)


def put(count: Count, permits: int, until: float) -> Steps[None]:
    """From now on there are so many permits.  One round trip; three the first time."""
    write = [Put(count.place, _COUNT.pack(permits))]
    (answer,) = yield from ask(count.name, write, until)
    if answer.value is No.MISSING and (yield from begin(count, permits, until)) != permits:
        yield from ask(count.name, write, until)
