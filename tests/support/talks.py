"""What a proxy understands of ZooKeeper's protocol: who asked what, and what was answered.

Every message is a frame: four bytes of length, then its text.  A request begins with a number
and an opcode, and its reply with the same number; only the first frame of each direction, the
greeting, has neither.  A watch event is a frame that answers nothing.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

#: ZooKeeper counts its operations from several beginnings.
_RANGES = {
    1: "create delete exists getData setData getACL setACL getChildren sync",
    11: "ping getChildren2 check multi create2 reconfig checkWatches removeWatches",
    19: "createContainer deleteContainer createTTL multiRead",
    100: "auth setWatches sasl getEphemerals getAllChildrenNumber setWatches2 addWatch whoAmI",
    -11: "closeSession",
}
OPCODES = {
    code: name
    for first, names in _RANGES.items()
    for code, name in enumerate(names.split(), start=first)
}

#: What a client sends to stay connected; no recipe pays for it.
UPKEEP = {"connect", "ping"}


@dataclass
class Burst:
    """Requests that a client sent without waiting for an answer to any of them."""

    #: The instant when the client hears the first answer.
    answered: float = math.inf


@dataclass
class TalkRequest:
    """A request on its way."""

    name: str
    burst: Burst | None = None
    #: How many bytes of its reply pass before the connection ends.
    keep: int | None = None


class Talk:
    """What a client has asked on one connection, and what is not answered yet."""

    def __init__(self) -> None:
        #: By the number that a reply repeats; the greeting has none.
        self._waiting: dict[int | None, TalkRequest] = {}
        self._asked = self._answered = False
        self.burst = Burst(-math.inf)

    def ask(self, frame: bytes) -> TalkRequest:
        number, code = struct.unpack_from(">ii", frame, 4) if self._asked else (None, None)
        self._asked = True
        asked = TalkRequest("connect" if code is None else OPCODES.get(code, str(code)))
        self._waiting[number] = asked
        return asked

    def answer(self, frame: bytes, heard: float) -> TalkRequest | None:
        """The request that a frame answers, if any; the client hears it at that instant."""
        number = struct.unpack_from(">i", frame, 4)[0] if self._answered else None
        self._answered = True
        asked = self._waiting.pop(number, None)
        if asked is not None and asked.burst is not None:
            asked.burst.answered = min(asked.burst.answered, heard)
        return asked


@dataclass
class Tally:
    """What clients have sent since it was begun."""

    names: list[str] = field(default_factory=list)
    trips: int = 0

    def add(self, talk: Talk, asked: TalkRequest, now: float) -> None:
        self.names.append(asked.name)
        if asked.name in UPKEEP:
            return
        if now >= talk.burst.answered:
            talk.burst = Burst()
            self.trips += 1
        asked.burst = talk.burst
