"""Which replies count only once replicas have confirmed them, and how many must.  Pure.

A grant or a renewal counts once so many replicas have it (WAIT, on the connection that wrote, and
only if the script wrote).  It lowers the odds that a failover forgets a grant; it is no consensus,
because a replica without it may be promoted all the same.

How many: as many as the user has said; or all that are known; or, if the user has not said, one,
if any is known.  A replica is known if the server itself shows it, or if a witness sees it up: the
Sentinels, or the other nodes of a cluster.  The server alone is no witness, because an old primary
shows none: its replicas follow the new one, and all that it grants will be forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from ...errors import StoreError, StoreUnavailable, internal
from ...steps import Call, Reply

#: All replicas that are known must confirm.
ALL: Literal["all"] = "all"

#: How many replicas must confirm; None is one, where any is known.
Replicas: TypeAlias = int | Literal["all"] | None

#: Seconds that replicas have to confirm what was written; as long as Redisson gives them.
LIMIT = 1.0


class Witness(Protocol):
    """What sees the replicas of a server, besides the server itself."""

    @property
    def title(self) -> str:
        """What to call it in a sentence."""
        ...

    def replicas_seen(self) -> int:
        """How many replicas of the server it has last seen up."""
        ...


@internal
class Unconfirmed(StoreUnavailable):
    """Too few replicas have what was written; the primary has it, so it must be withdrawn."""

    partial = True


def needs_confirmation(request: Call, reply: Reply) -> bool:
    """Whether a script has granted or renewed: what wrote nothing must not wait for others."""
    if not request.operation.confirmable or not isinstance(reply, list):
        return False
    return reply[0] == 1 and any(reply[1:])


def replicas_shown(role: Sequence[Any], label: str, any_role: bool = False) -> int:
    """How many replicas a server of this role shows.

    A server that is no primary is of no use, unless `any_role` is: it has no replicas then.
    """
    kind = role[0] if isinstance(role[0], str) else role[0].decode()
    if kind == "master":
        return len(role[2])
    if any_role:
        return 0
    raise StoreUnavailable(f"the server of {label} is a {_KINDS.get(kind, kind)}", label)


_KINDS = {"slave": "replica by now, and another one its primary", "sentinel": "Sentinel"}


def are_counted(said: Replicas) -> bool:
    """Whether it depends on the replicas that there are how many of them must confirm."""
    return not isinstance(said, int)


def replicas_to_wait_for(said: Replicas, known: int) -> int:
    """How many replicas must confirm what is written, where so many are known."""
    if said is None:
        return min(known, 1)
    return known if said == ALL else said


class Confirmation(NamedTuple):
    """What makes the grants of one connection count."""

    label: str
    wanted: int
    #: How many replicas the server shows, and how many a witness sees that has this title.
    shown: int
    seen: int = 0
    witness: str = ""

    def command(self, left: float) -> tuple[str, ...]:
        """Ask how many replicas have everything that was written on this connection.

        The server answers before the caller stops waiting; 0 would be for ever.
        """
        limit = max(min(LIMIT, 0.7 * left), 0.001)
        return "WAIT", str(self.wanted), str(int(limit * 1000))

    def failure(self, request: Call, acknowledged: int | StoreError) -> StoreError | None:
        """Why a grant or a renewal does not count; None when enough replicas have it."""
        if isinstance(acknowledged, StoreError):
            failure = copy(acknowledged)  # each may get notes of its own
            failure.partial = True  # the script itself was executed
            return failure
        if acknowledged >= self.wanted:
            return None
        granted = request.operation.name.endswith("_attempt")
        what = f"the grant of lock {request.keys[0]!r}" if granted else "a renewal"
        end = "it is withdrawn" if granted else "the lease is not prolonged"
        return Unconfirmed(
            f"{acknowledged} of {self.wanted} replicas of {self.label} acknowledged {what} in "
            f"time; {end}{self._doubt()}",
            self.label,
        )

    def _doubt(self) -> str:
        """Why the server may be an old primary, and what to do if it is not."""
        if self.shown >= self.wanted or self.shown >= self.seen:
            return ""
        return (
            f": the server shows {self.shown} replicas and {self.witness} {self.seen} that are "
            "up, so it may have been replaced; if it was not, start its replicas or say replicas=0"
        )


def confirmation_of(
    label: str, said: Replicas, shown: int, witness: Witness | None
) -> Confirmation:
    """What makes grants count on a connection to a server that shows so many replicas."""
    seen = 0 if witness is None or not are_counted(said) else witness.replicas_seen()
    wanted = replicas_to_wait_for(said, max(shown, seen))
    return Confirmation(label, wanted, shown, seen, "" if witness is None else witness.title)
