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
ends all connections; no replica confirms what it writes, once they follow the new primary, if the
user has said how many must; and at last it answers READONLY.  Then every lease is renewed at the
new primary, which may lack some.

Confirmation.  A grant or a renewal counts once `replicas` of them have it (WAIT, on the connection
that wrote, and only if the script wrote).  It lowers the odds that a failover forgets a grant; it
is no consensus, because a replica without it may be promoted all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeAlias

from ...errors import StoreError, StoreMisconfigured, StoreUnavailable, internal
from ...steps import Call, Reply
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

#: Seconds that replicas have to confirm what was written; as long as Redisson gives them.
CONFIRMATION = 1.0

_DEMOTED = re.compile(r"\b(READONLY|UNBLOCKED|MASTERDOWN|WAIT cannot be used with replica)\b")


# --- what Sentinels say --------------------------------------------------------------------------


class Primary(NamedTuple):
    """What one Sentinel says of the primary."""

    host: str
    port: int
    #: The number of the failover that made it the primary.
    epoch: int
    #: Whether the Sentinel takes it to be out of reach.
    down: bool
    #: Whether the Sentinel has lost a connection to it, which may be restored in a moment.
    cut: bool = False

    @property
    def address(self) -> str:
        return spelled_address(self.host, self.port)


#: Yields which Sentinel to ask, and until when; is sent what it said, or why it did not.
Search: TypeAlias = Generator[tuple[int, float], "Primary | StoreError", Primary]

#: The same, when what was found is written down in the end.
Questions: TypeAlias = Generator[tuple[int, float], "Primary | StoreError", None]


def read_primary(words: Sequence[bytes]) -> Primary:
    """The answer to SENTINEL MASTER, which is names and values in turn."""
    texts = [word.decode("utf-8", "replace") for word in words]
    said = dict(zip(texts[::2], texts[1::2], strict=False))
    flags = {*said["flags"].split(",")}
    down, cut = bool({"s_down", "o_down"} & flags), "disconnected" in flags
    return Primary(said["ip"], int(said["port"]), int(said["config-epoch"]), down, cut)


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
    `newest`.  One question to one Sentinel, if the first can be believed.  After a `reset` a
    majority is believed though it is behind."""
    said: list[Primary] = []
    failures: list[StoreError] = []
    for place, sentinel in enumerate(order):
        at = clock()
        answer = yield sentinel, at + min((until - at) / (len(order) - place), ANSWER)
        if isinstance(answer, StoreError):
            failures.append(answer)
        elif not answer.down and not answer.cut and answer.epoch >= newest:
            return answer
        else:
            said.append(answer)
    agreed = _majority_of(said, len(order)) if reset else None
    return agreed or _best_of(said, failures, newest, label)


def _best_of(
    said: Sequence[Primary], failures: Sequence[StoreError], newest: int, label: str
) -> Primary:
    """What to believe when no Sentinel could be believed by itself."""
    up = [each for each in said if not each.down]
    if current := [each for each in up if each.epoch >= newest]:
        return max(current, key=lambda each: each.epoch)  # they are cut off from it just now
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
        words = f"{sentinel} denies this user SENTINEL MASTER; allow it to the user in its ACL"
    else:
        return StoreUnavailable(f"{sentinel} answered: {text}", label)
    return StoreMisconfigured(words, label)


# --- what the server says ------------------------------------------------------------------------


def is_demoted(text: str) -> bool:
    """Whether an error reply says that the server is no primary, or not any more: then no
    connection to it is of use."""
    return _DEMOTED.search(text) is not None


def replicas_to_wait_for(
    role: Sequence[Any], wanted: int | None, label: str, any_role: bool = False
) -> int:
    """How many replicas must confirm what is written on a connection to a server of this role.

    Where the user has not said, it is one, if the server has replicas at all.  A server that is
    no primary is of no use, unless `any_role` is: it has no replicas then.
    """
    kind = role[0] if isinstance(role[0], str) else role[0].decode()
    if kind != "master" and any_role:
        return wanted or 0
    if kind != "master":
        raise StoreUnavailable(f"the server of {label} is a {_KINDS.get(kind, kind)}", label)
    return wanted if wanted is not None else min(len(role[2]), 1)


_KINDS = {"slave": "replica by now, and another one its primary", "sentinel": "Sentinel"}


# --- confirmation by replicas --------------------------------------------------------------------


@internal
class Unconfirmed(StoreUnavailable):
    """Too few replicas have what was written; the primary has it, so it must be withdrawn."""

    partial = True


def needs_confirmation(request: Call, reply: Reply) -> bool:
    """Whether a script has granted or renewed: what wrote nothing must not wait for others."""
    if not request.operation.confirmable or not isinstance(reply, list):
        return False
    return reply[0] == 1 and any(reply[1:])


def wait_command(replicas: int, left: float) -> tuple[str, ...]:
    """Ask how many replicas have everything that was written on this connection.

    The server answers before the caller stops waiting; 0 would be for ever.
    """
    limit = max(min(CONFIRMATION, 0.7 * left), 0.001)
    return "WAIT", str(replicas), str(int(limit * 1000))


def unconfirmed(
    request: Call, acknowledged: int | StoreError, wanted: int, label: str
) -> StoreError | None:
    """Why a grant or a renewal does not count; None when enough replicas have it."""
    if isinstance(acknowledged, StoreError):
        failure = copy(acknowledged)  # each may get notes of its own
        failure.partial = True  # the script itself was executed
        return failure
    if acknowledged >= wanted:
        return None
    granted = request.operation.name.endswith("_attempt")
    what = f"the grant of lock {request.keys[0]!r}" if granted else "a renewal"
    end = "it is withdrawn" if granted else "the lease is not prolonged"
    return Unconfirmed(
        f"{acknowledged} of {wanted} replicas of {label} acknowledged {what} in time; {end}", label
    )
