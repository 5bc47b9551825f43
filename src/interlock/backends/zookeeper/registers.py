"""Registers: a persistent node for each, changed only where its version is the one that was read.

Curator has none, so the layout is Interlock's own: `<chroot>/interlock:registers/<2
digits>/<digest>`, where the digest is the SHA-256 of the name in hexadecimal, and the digits are
its first two.  The node holds JSON:

    {"name": "job:report", "until": 1790000000.0, "text": "…"}

`until` is when the text ends by the wall clock, null if never: ZooKeeper removes no node by its
age unless its servers are told to.  A text that has ended counts as none.  Its node is removed by
a client that makes another node in the same directory, but not before an hour has passed: a client
that has read it may still be about to replace it, and a new node would count its versions from
zero again.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from typing import Any, NamedTuple

from ...errors import StoreError
from ...model import RESERVED, Register
from ...steps import Steps
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

#: Seconds for which a node stays after its text has ended.
ENDED = 3600.0

#: Of so many new nodes one looks for old ones, at so many at most.
SWEEP, LOOKS = 16, 32

#: What a version has room for: which node, and how often it was written.
WRITES = 32


class StoredText(NamedTuple):
    """What the node of a register says."""

    text: str
    until: float

    def packed(self, name: str) -> bytes:
        until = None if self.until == math.inf else self.until
        return json.dumps({"name": name, "until": until, "text": self.text}).encode()


def read_stored(data: bytes) -> StoredText | None:
    """What a node says; None if it is not of a register.  Pure."""
    try:
        told = json.loads(data)
        until = math.inf if told["until"] is None else float(told["until"])
        return StoredText(str(told["text"]), until)
    except (ValueError, TypeError, LookupError):
        return None


class ZkRegisters:
    """See `spi.RegisterStore`.  To read is one round trip, and so is to replace; to write the
    first text is one, two where another has ended, or the directory is missing; now and then it
    takes two more to remove what has ended."""

    def __init__(self, namespace: Namespace) -> None:
        self._root, self.label = f"{namespace.root}/{RESERVED}registers", namespace.label
        self._made = 0

    def _path(self, name: str) -> str:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return f"{self._root}/{digest[:2]}/{digest}"

    def fetch(self, name: str, until: float) -> Steps[Register | None]:
        (answer,) = yield from ask(name, [Get(self._path(name))], until)
        found = _stored(answer)
        if found is None or found[0].until <= time.time():
            return None
        return Register(found[0].text, found[1])

    def swap(self, name: str, text: str, version: int, keep: float, until: float) -> Steps[bool]:
        data = StoredText(text, time.time() + keep).packed(name)
        if version:
            return (yield from self._put(name, data, version, until))
        return (yield from self._make(name, data, until))

    def _put(self, name: str, data: bytes, version: int, until: float) -> Steps[bool]:
        put = Put(self._path(name), data, version % (1 << WRITES))
        (answer,) = yield from ask(name, [put], until)
        return not isinstance(answer.value, Refusal)

    def _make(self, name: str, data: bytes, until: float) -> Steps[bool]:
        path = self._path(name)
        folder = path.rpartition("/")[0]
        requests: list[ZkRequest] = [Create(path, data, PERSISTENT), Get(path)]
        for _ in range(VANISHED):
            *_, created, found = yield from ask(name, requests, until)
            if created.value is Refusal.THERE:
                return (yield from self._renew(name, data, found, until))
            if created.value is not Refusal.MISSING:
                try:
                    yield from self._sweep(name, folder, until)
                except StoreError:
                    pass  # another client removes it: the text is written
                return True
            requests = [*parents(folder), Create(path, data, PERSISTENT), Get(path)]
        raise vanishing(name, folder, self.label)

    def _renew(self, name: str, data: bytes, found: Answer, until: float) -> Steps[bool]:
        """Write over a text that has ended; False where it has not."""
        there = _stored(found)
        if there is not None and there[0].until > time.time():
            return False
        if found.value is Refusal.MISSING:
            return False  # it has just been removed: the caller reads again
        return (yield from self._put(name, data, _version(found), until))

    # --- what has ended -----------------------------------------------------------------------

    def _sweep(self, name: str, folder: str, until: float) -> Steps[None]:
        """Remove some of what ended long ago from a directory, now and then."""
        self._made += 1
        if self._made % SWEEP:
            return
        (listed,) = yield from ask(name, [Children(folder)], until)
        paths = [f"{folder}/{each}" for each in _some(listed.children, self._made)]
        if not paths:
            return
        answers = yield from ask(name, [Get(path) for path in paths], until)
        pairs = zip(paths, answers, strict=True)
        ended = [Delete(path, _writes(told)) for path, told in pairs if _has_ended(told)]
        if ended:
            yield from ask(name, ended, until)


def _some(children: Any, made: int) -> list[str]:
    """A few of many, others each time."""
    every = sorted(children)
    start = made // SWEEP * LOOKS % max(1, len(every))
    return (every[start:] + every[:start])[:LOOKS]


def _has_ended(answer: Answer) -> bool:
    found = _stored(answer)
    return found is not None and found[0].until + ENDED < time.time()


def _stored(answer: Answer) -> tuple[StoredText, int] | None:
    if answer.value is Refusal.MISSING:
        return None
    stored = read_stored(answer.value[0])
    return None if stored is None else (stored, _version(answer))


def _writes(answer: Answer) -> int:
    return int(answer.value[1].version)


def _version(answer: Answer) -> int:
    """Which node, and which of its versions; never 0."""
    stat = answer.value[1]
    return int(stat.czxid << WRITES | stat.version)
