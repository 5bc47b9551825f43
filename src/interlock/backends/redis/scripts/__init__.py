"""The Lua scripts: one atomic operation a file, with a header that is read, not skipped.

A key or an argument at the end of the list may be left out where its header says so: a script
that serves two operations tells them apart by it, at no cost to the one that is asked more often.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from ....ledger import RELEASED
from ....model import TOMBSTONE

_PARAMETER = re.compile(r"^-- (KEYS|ARGV)\[(\d+|\*)\]  (\w+)", re.MULTILINE)


@dataclass(frozen=True, eq=False)  # each is made once, and the hash of a text takes its time
class Script:
    """One script: its text, its SHA-1, and how many keys and arguments it takes."""

    name: str
    text: str
    sha: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    #: Takes as many keys and arguments as the caller likes.
    many: bool

    @cached_property
    def confirmable(self) -> bool:
        """Whether it grants, renews or remembers, so that replicas can be waited for."""
        return self.name.endswith(("_attempt", "_renew", "_write"))

    @cached_property
    def leaves(self) -> bool:
        """Whether an owner gives back by it, or withdraws: a new primary must hear of it."""
        return self.name.endswith(("_release", "_leave"))

    @cached_property
    def wants_run(self) -> bool:
        """Whether its last argument is the run id of the server, as its connection knows it."""
        return self.args[-1:] == ("run",)


@cache
def script(name: str) -> Script:
    """Read a script and its header."""
    text = files(__name__).joinpath(f"{name}.lua").read_text(encoding="utf-8")
    parameters = _PARAMETER.findall(text)
    return Script(
        name,
        text,
        _sha(text),
        tuple(word for table, _, word in parameters if table == "KEYS"),
        tuple(word for table, _, word in parameters if table == "ARGV"),
        any(index == "*" for _, index, _ in parameters),
    )


def remade(plain: Script, text: str) -> Script:
    """The same operation by another text."""
    return replace(plain, text=text, sha=_sha(text))


def _sha(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


# --- what scripts are told ----------------------------------------------------------------------


def ms(seconds: float) -> int:
    return math.ceil(seconds * 1000)


TOMBSTONE_MS = ms(TOMBSTONE)


# --- and what they answer -----------------------------------------------------------------------

#: An attempt found something to see to first: a lease that has ended, or another waiter due.
UNSETTLED = 5


def released(name: str, answer: Any) -> bool:
    """Whether the owner held what it gave back, or withdrew from."""
    return bool(answer[0] == RELEASED)


def text(part: Any) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)


def texts(answer: Sequence[Any]) -> list[Any]:
    return [answer[0], *(text(part) for part in answer[1:])]


def in_seconds(left_ms: int) -> float | None:
    """What is left of a lease; None when it never ends."""
    return left_ms / 1000 if left_ms >= 0 else None
