"""Values that travel through the kernel.  None of them changes once made.

Seconds are floats.  Instants are read from the holder's clock (see `drive.now`) and mean nothing
to the store or to another client; what a store is told are lengths of time, never instants.
"""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, overload

from .errors import UsageError
from .words import given, shown

Seconds: TypeAlias = "float | int | timedelta"

FOREVER = math.inf

#: How much faster than ours the store's clock may run, and its rounding, in seconds.
DRIFT, ROUNDING = 0.01, 0.002

#: A waiter that was handed a lock has this long to claim it.
PROVISIONAL = 2.0

#: How long a party that gathers at a barrier counts as there after its last question.
PRESENCE = 10.0

#: How long a withdrawn owner stays refused: longer than any request can be late.
TOMBSTONE = 60.0

SHORTEST_LEASE, LONGEST_LEASE = 0.05, 30 * 86_400.0
LONGEST_TIME = 1e300
LONGEST_NAME = 65_536

#: The most permits or counts: what every store and every client can count.
MOST = 2**31 - 1

#: What a store answers of a hold that stands, and that another client asks its holder for.
RELEASE_REQUESTED = "release requested"

#: What the keys of the stores' own records start with.
RESERVED = "interlock:"

#: What a name can be, and the code that ends the numbers of its owners: by it a store that
#: keeps nothing but owners (Redisson's layout) still knows what a name is in use as.  A code is
#: one digit with any zeros behind it, so that the end of a number tells where its code begins:
#: after "9" come "10", "20" and so on.
KIND_CODES = {
    "lock": "1",
    "mutex": "2",
    "fair_lock": "3",
    "fenced_lock": "4",
    "read": "5",
    "write": "6",
    "semaphore": "7",
    "leased_semaphore": "8",
    "latch": "9",
    "election": "10",
    "barrier": "20",
}

_KINDS = {code: kind for kind, code in KIND_CODES.items()}


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPELLED = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")


class Terms(NamedTuple):
    """What the holder is promised: a lease, kept or not, perhaps up to a ceiling."""

    lease: float = 30.0
    renew: bool = True
    max_hold: float | None = None
    #: How long before its validity ends a silent lease is reported lost.
    guard: float = 1.5


class Grant(NamedTuple):
    """The positive answer: `owner` has `name` until the local instant `until`."""

    name: str
    owner: str
    token: int
    asked: float
    until: float
    #: One of the questions went unanswered, so a copy of it may still arrive.
    unanswered: bool = False


class Busy(NamedTuple):
    """The negative answer: who holds it, and for how much longer if the store knows."""

    holder: str | None
    left: float | None
    #: The holder wakes no waiter when it releases (a foreign client): ask again soon.
    silent: bool = False
    #: Among the holders is a client of another make, which wakes only those who listen to it.
    foreign: bool = False
    #: The store remembers the owner all the same, in order.
    placed: bool = False


class Register(NamedTuple):
    """A small text that a store keeps under a name, and which version of it."""

    text: str
    version: int


@dataclass(frozen=True)
class Holder:
    """A client that holds a lock, as far as the store knows."""

    owner: str
    host: str = ""
    pid: int = 0
    program: str = ""
    since: float | None = None
    #: "read" or "write" where both exist; of a party at a barrier "waits", "inside" or "done".
    mode: str = ""
    #: The fencing token of its grant, where the store keeps it.
    token: int | None = None
    #: Seconds until its hold ends unless it is renewed, where the store knows.  ZooKeeper knows a
    #: bound: of another client's hold its whole lease, or its session if that is shorter.
    expires_in: float | None = None
    #: How many permits it has.
    weight: int = 1
    #: What it calls itself in an election.
    participant: str = ""

    def __str__(self) -> str:
        called = f"{self.participant} at " if self.participant else ""
        if not self.host:
            return f"{called}owner {self.owner[:8]}…"
        program = f" ({self.program})" if self.program else ""
        return f"{called}{self.host}:{self.pid}{program}"


@dataclass(frozen=True)
class LockInfo:
    """What a store knows of one name: who holds it, how long still, how many wait.

    `expires_in` is the nearest end of a lease, of which ZooKeeper knows a bound: see `Holder`;
    None where nothing ends by itself.
    """

    name: str
    kind: str
    holders: tuple[Holder, ...]
    expires_in: float | None
    #: How many wait: in the store's queue, where a client has one place (of a fair_lock each
    #: waiter has one), and inside of the client that asks.
    waiters: int = 0
    #: Of a semaphore: how many permits there are, and how many are free now.
    permits: int | None = None
    available: int | None = None
    #: Of a latch: how many are still to be counted down.
    count: int | None = None
    #: Of a barrier: how many parties meet there; the holders are those that are there.
    parties: int | None = None

    @property
    def token(self) -> int | None:
        """The newest fencing token among the holders, where the store keeps them."""
        return max((each.token for each in self.holders if each.token is not None), default=None)


@dataclass(frozen=True)
class Finding:
    """Something that makes the locks of a store unsafe; as a text it is one sentence."""

    #: What it is, for programs: docs/doctor.md lists all of them.
    code: str
    #: "serious": two clients may have one lock, as things are; "warning": they may when something
    #: else fails as well; "info": it could not be looked at.
    severity: str
    #: The server, or the file, that it is about.
    node: str
    message: str
    #: What to do about it.
    advice: str

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}"


def validity(asked: float, lease: float) -> float:
    """Until when a lease granted in answer to a question of `asked` may be trusted."""
    return asked + lease * (1 - DRIFT) - ROUNDING


def checked_name(name: object) -> str:
    """Refuse names that no store could keep; everything else is welcome."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {given(name)}")
    if not name:
        raise UsageError("name must not be empty")
    if name.startswith(RESERVED):
        raise UsageError(f"names that start with {RESERVED!r} are reserved, so not {name[:60]!r}")
    return _checked_size("name", name)


def _checked_size(argument: str, text: str) -> str:
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        words = f"{argument} {text[:40]!r} is not valid Unicode: {error.reason}"
        raise UsageError(words) from None
    if size > LONGEST_NAME:
        raise UsageError(f"{argument} is {size} bytes long; {LONGEST_NAME} is the limit")
    return text


def checked_terms(lease: Seconds, renew: bool, max_hold: Seconds | None) -> Terms:
    """Turn what the user said into terms, or name the argument that is wrong."""
    seconds = as_seconds("lease", lease)
    if not SHORTEST_LEASE <= seconds <= LONGEST_LEASE:
        raise UsageError(f"lease must be between 50 ms and 30 days, not {shown(lease)}")
    if not isinstance(renew, bool):
        raise TypeError(f"renew must be True or False, not {given(renew)}")
    ceiling = None if max_hold is None else as_seconds("max_hold", max_hold)
    if ceiling is not None and ceiling <= 0:
        raise UsageError(f"max_hold must be positive, not {shown(max_hold)}")
    return _terms(seconds, renew, ceiling)


@lru_cache  # because most locks of a program are made on the same terms
def _terms(lease: float, renew: bool, max_hold: float | None) -> Terms:
    return Terms(lease, renew, max_hold, guard(lease))


def checked_count(argument: str, value: object, least: int = 1) -> int:
    """A whole number of permits or counts; the error names the argument."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{argument} must be an int, not {given(value)}")
    if not least <= value <= MOST:
        raise UsageError(f"{argument} must be between {least} and {MOST}, not {shown(value)}")
    return value


def checked_text(argument: str, value: object, example: str = "") -> str:
    """A text; the error names the argument."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a str{example}, not {given(value)}")
    return value


def checked_participant(value: object) -> str:
    """What a participant of an election calls itself: a text that every store can keep."""
    return _checked_size("participant", checked_text("participant", value, " such as 'node-a'"))


def checked_callback(argument: str, value: Any) -> None:
    """Refuse what cannot be called, and what would have to be awaited."""
    if not callable(value):
        raise TypeError(f"{argument} must be a function, not {given(value)}")
    if inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__):
        raise TypeError(f"{argument} must be a plain function: this one is async, to be awaited")


def kind_of_owner(owner: str) -> str | None:
    """As what one of our owners uses its name, "read" and "write" apart."""
    return _KINDS.get(owner[len(owner.rstrip("0")) - 1 :])


def use_of_owner(owner: str) -> str:
    """As what one of our owners uses its name; a lock where that is not known."""
    kind = kind_of_owner(owner) or "lock"
    return "rwlock" if kind in ("read", "write") else kind


def permit_id(owner: str) -> bytes:
    """The 16 bytes by which other clients know a permit: the client's, and its number.

    Identities end in six bytes of zero, so that the client can be told from the permit.
    """
    identity, _, number = owner.rpartition(":")
    return bytes.fromhex(identity.replace("-", ""))[:10] + int(number).to_bytes(6, "big")


def guard(lease: float) -> float:
    """How long before its validity ends a silent lease is reported lost."""
    return min(max(0.05, 0.05 * lease), lease / 4)


def checked_timeout(timeout: Seconds | None) -> float:
    """Seconds to wait: None and -1 mean for ever, 0 means one try."""
    if timeout is None or (timeout == -1 and not isinstance(timeout, bool)):
        return FOREVER
    seconds = as_seconds("timeout", timeout, "; None waits for ever")
    if seconds < 0:
        raise UsageError(f"timeout must be None, -1 or at least 0, not {shown(timeout)}")
    return seconds


@overload
def spelled(argument: str, value: Seconds | str) -> Seconds: ...
@overload
def spelled(argument: str, value: Seconds | str | None) -> Seconds | None: ...
def spelled(argument: str, value: Seconds | str | None) -> Seconds | None:
    """Read "500ms", "10s", "5m", "2h" or "30d"; everything else passes as it is.

    Only where words are at home: in decorators and URLs.
    """
    if not isinstance(value, str):
        return value
    found = _SPELLED.fullmatch(value.strip())
    if found is None:
        raise UsageError(f'{argument} must look like "10s", "500ms" or "5m", not {shown(value)}')
    return float(found.group(1)) * _UNITS[found.group(2) or "s"]


def as_seconds(argument: str, value: object, hint: str = "") -> float:
    """Read a length of time; the error names the argument."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{argument} must be seconds or a timedelta, not {given(value)}")
    if not -LONGEST_TIME <= value <= LONGEST_TIME:  # also where no float is as large, or nan
        raise UsageError(f"{argument} must be seconds up to 1e300, not {shown(value)}{hint}")
    return float(value)
