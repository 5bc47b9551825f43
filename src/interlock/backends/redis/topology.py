"""Which server is the primary, and what its answers mean for the connections to it.  Pure.

Theory of operation.  Sentinels know which server is the primary, each for itself and some a
moment before the others.  The number of the last failover (the epoch) orders what they say: a
Sentinel that is behind what this client knows is not believed, unless all of them are, or a
majority that agrees and goes on to: then their state was reset.  So they are asked one after
another, until one of them names a primary that is up and not behind.

What they say may still be ahead of or behind the truth, so a new connection asks the server for
its role, and takes none that is not a primary.  A primary that was replaced while it was cut off
comes back as one that takes writes for about ten seconds, hears of nothing, and forgets it all.
A client that still talks to it finds out in three ways: the Sentinels name another server, which
ends all connections; no replica confirms what it writes, once they follow the new primary (see
`confirmation`); and at last it answers READONLY.  Then every lease is renewed at the new primary,
which may lack some.

The Sentinels are also asked for the replicas, because an old primary shows none.  One that they
have heard of, and do not see down, counts as up: a connection to it that they have just lost is no
sign, because a failover cuts those to the replicas that it promotes and moves.  That no replica is
up must be said by most of them, since one that is cut off together with an old primary sees none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeAlias

from ...errors import StoreError, StoreMisconfigured, StoreUnavailable, internal
from .url import spelled_address

#: The Sentinels are asked so often, in seconds, while calls are made.  A waiter polls once in one
#: to two seconds, so that each of its polls goes to the server that is the primary then.
CHECK = 1.0

#: Seconds for one Sentinel to answer, where there is time for it.
ANSWER = 1.0

#: Seconds for which a Sentinel that did not answer is asked after all the others.
PASSED_OVER = 10.0

#: Seconds after which a majority of Sentinels that is behind will not catch up, because its state
#: was reset: they tell each other of a failover every two seconds.
RESET = 10.0

#: What the Sentinel that leads a failover does when another server has been promoted already; it
#: still names the old one then, under the number of the new failover.
_REPLACED = {"reconf_slaves", "update_config"}

_DEMOTED = re.compile(r"\b(READONLY|UNBLOCKED|MASTERDOWN|WAIT cannot be used with replica)\b")


# --- what Sentinels say --------------------------------------------------------------------------


class Primary(NamedTuple):
    """What one Sentinel says of the primary."""

    host: str
    port: int
    #: The number of the failover that made it the primary.
    epoch: int
    #: Whether the Sentinel takes it to be out of reach, or has replaced it.
    down: bool
    #: Whether the Sentinel has lost a connection to it, which may be restored in a moment.
    cut: bool = False
    #: How many replicas of it the Sentinel sees up, and how many others it knows.
    replicas: int = 0
    absent: int = 0

    @property
    def address(self) -> str:
        return spelled_address(self.host, self.port)


#: Yields which Sentinel to ask, and until when; is sent what it said, or why it did not.
Search: TypeAlias = Generator[tuple[int, float], "Primary | StoreError", Primary]

#: The same, when what was found is written down in the end.
Questions: TypeAlias = Generator[tuple[int, float], "Primary | StoreError", None]


def read_primary(words: Sequence[bytes], replicas: Sequence[Sequence[bytes]] = ()) -> Primary:
    """The answers to SENTINEL MASTER and SENTINEL REPLICAS."""
    said, flags = _read(words)
    down = bool(_DOWN & flags) or said.get("failover-state") in _REPLACED
    up = sum(map(_is_up, replicas))
    return Primary(
        said["ip"],
        int(said["port"]),
        int(said["config-epoch"]),
        down,
        "disconnected" in flags,
        up,
        len(replicas) - up,
    )


def _is_up(words: Sequence[bytes]) -> bool:
    """Whether a replica was heard of, so that its run is known, and is not down."""
    said, flags = _read(words)
    return said["runid"] != "" and not _DOWN & flags


_DOWN = {"s_down", "o_down"}


def _read(words: Sequence[bytes]) -> tuple[dict[str, str], set[str]]:
    """What a Sentinel says of a server, which is names and values in turn; and its flags."""
    texts = [word.decode("utf-8", "replace") for word in words]
    said = dict(zip(texts[::2], texts[1::2], strict=False))
    return said, {*said["flags"].split(",")}


@internal
class SentinelsBehind(StoreUnavailable):
    """The Sentinels that answer do not know of a failover that this client has seen."""


def search(
    order: Sequence[int],
    newest: int,
    clock: Callable[[], float],
    until: float,
    label: str,
    reset: bool = False,
) -> Search:
    """Ask Sentinels in order until one names a primary that is up, and of no epoch before the
    `newest`.  One question to one Sentinel, if the first can be believed, and knows no replica
    or sees one up.  After a `reset` a majority is believed though it is behind."""
    believed: list[Primary] = []
    said: list[Primary] = []
    failures: list[StoreError] = []
    for place, sentinel in enumerate(order):
        at = clock()
        answer = yield sentinel, at + min((until - at) / (len(order) - place), ANSWER)
        if isinstance(answer, StoreError):
            failures.append(answer)
        elif answer.down or answer.cut or answer.epoch < newest:
            said.append(answer)
        else:
            believed.append(answer)
            if _knows_replicas(believed, len(order)):
                break
    if believed:
        return _newest_of(believed, len(order))
    agreed = _majority_of(said, len(order)) if reset else None
    return agreed or _best_of(said, failures, newest, label, len(order))


def _knows_replicas(several: Sequence[Primary], sentinels: int) -> bool:
    """Whether a Sentinel of those that name the newest primary sees a replica up, or none of them
    knows any, or most of all Sentinels see none up."""
    newest = max(several, key=lambda each: each.epoch)
    same = [each for each in several if each.address == newest.address]
    if any(each.replicas for each in same) or not any(each.absent for each in same):
        return True
    return 2 * len(same) > sentinels


def _newest_of(several: Sequence[Primary], sentinels: int) -> Primary:
    """The newest primary that is named, and as many replicas as any Sentinel sees up; where too
    few of them can say that there is none, it counts as one."""
    newest = max(several, key=lambda each: each.epoch)
    seen = max(each.replicas for each in several if each.address == newest.address)
    least = 0 if _knows_replicas(several, sentinels) else 1
    return newest._replace(replicas=max(seen, least))


def _best_of(
    said: Sequence[Primary],
    failures: Sequence[StoreError],
    newest: int,
    label: str,
    sentinels: int,
) -> Primary:
    """What to believe when no Sentinel could be believed by itself."""
    up = [each for each in said if not each.down]
    if current := [each for each in up if each.epoch >= newest]:
        return _newest_of(current, sentinels)  # they are cut off from it just now
    if up and not failures:
        return max(up, key=lambda each: each.epoch)  # all are behind: their state was reset
    if said:
        address = max(said, key=lambda each: each.epoch).address
        state = "behind a failover that this client has seen" if up else "down"
        words = f"the Sentinels of {label} see its primary {address} {state}"
        raise (SentinelsBehind if up else StoreUnavailable)(words, label)
    for failure in failures:
        if isinstance(failure, StoreMisconfigured):
            raise failure
    reasons = "; ".join(str(failure) for failure in failures)
    raise StoreUnavailable(f"no Sentinel of {label} answers: {reasons}", label)


def _majority_of(said: Sequence[Primary], sentinels: int) -> Primary | None:
    """What more than half of the Sentinels say, however far they are behind."""
    up = [each for each in said if not each.down]
    for each in up:
        same = [other for other in up if other.address == each.address]
        if 2 * len(same) > sentinels:
            return max(same, key=lambda other: other.epoch)
    return None


def sentinel_refused(text: str, sentinel: str, service: str, label: str) -> StoreError:
    """What the error reply of a Sentinel means."""
    if "No such master" in text:
        words = f"{sentinel} knows no service {service!r}; check the name in {label}"
    elif "unknown command" in text:
        words = f"{sentinel} is no Sentinel but another Redis server; is it a redis:// URL?"
    elif "uthentication required" in text or "NOAUTH" in text:
        words = f"{sentinel} requires a password; pass sentinel_password="
    elif "NOPERM" in text or "no permissions" in text:
        words = (
            f"{sentinel} denies this user SENTINEL MASTER or REPLICAS; allow them to the user in "
            "its ACL, or only the first of them and say how many replicas= must confirm"
        )
    else:
        return StoreUnavailable(f"{sentinel} answered: {text}", label)
    return StoreMisconfigured(words, label)


# --- what the server says ------------------------------------------------------------------------


def is_demoted(text: str) -> bool:
    """Whether an error reply says that the server is no primary, or not any more: then no
    connection to it is of use."""
    return _DEMOTED.search(text) is not None
