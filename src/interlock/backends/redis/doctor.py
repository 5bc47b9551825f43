"""What makes locks on Redis unsafe, as far as the servers say it themselves.

A server is asked once, by one script (server_examine): what it says of itself (INFO), and its
clock.  What that means is decided here, without I/O; how many servers there are, and which, each
topology says for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import StoreError
from ...model import Finding
from ...steps import Call
from ...words import duration
from .confirmation import Replicas
from .scripts import script, text

#: The oldest server whose commands suffice.
OLDEST = (6, 2)

#: Seconds that clocks may be apart before anything is said.
APART = 1.0

EXAMINE = script("server_examine")


class ServerFacts(NamedTuple):
    """What one server has said of itself."""

    label: str
    facts: Mapping[str, str]
    #: Its clock, in seconds.
    clock: float


@dataclass(frozen=True)
class Expected:
    """What the client expects of its servers."""

    #: How many replicas confirm.
    replicas: Replicas = 0
    #: Whether the user has chosen that number.
    chosen: bool = False
    guarded: bool = False
    #: Whether the servers are to outlive each other, as those of Redlock.
    quorum: bool = False


def expected_of(factory: Any, guarded: bool) -> Expected:
    """What a client expects of a server; by Sentinels no replicas are a choice."""
    return Expected(factory.replicas, factory.finder is not None, guarded)


def asked(until: float, node: Any = None) -> Call:
    """The question for one server."""
    return Call(EXAMINE, (), (), until, node)


def read(label: str, reply: Any) -> ServerFacts | Finding:
    """What a server has answered, or why there is nothing to be seen."""
    if isinstance(reply, StoreError):
        message = f"{label} was not looked at: {reply}"
        return Finding("unreachable", "warning", label, message, "see to it that it answers")
    if reply[0] == 0:
        message = f"{label} was not looked at: this user may not ask for INFO"
        return Finding("unseen", "info", label, message, "allow the user +info to know more")
    lines = [line.partition(":") for line in text(reply[2]).split("\r\n")]
    return ServerFacts(label, {word: value for word, _, value in lines}, int(reply[1]) / 1_000_000)


def of_servers(servers: Sequence[ServerFacts | Finding], terms: Expected) -> list[Finding]:
    """What is wrong with each of these servers, which are to be primaries."""
    found: list[Finding] = []
    for each in servers:
        found += [each] if isinstance(each, Finding) else of_server(each, terms)
    return found


def of_server(server: ServerFacts, terms: Expected) -> list[Finding]:
    """What is wrong with a server, which is to be a primary."""
    several = (
        _age(server),
        _role(server),
        eviction(server),
        _replicas(server, terms),
        _persistence(server, terms),
    )
    return [finding for finding in several if finding is not None]


# --- one server ------------------------------------------------------------------------------


def _age(server: ServerFacts) -> Finding | None:
    version = server.facts.get("redis_version", "")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if not numbers or numbers >= OLDEST:
        return None
    message = f"{server.label} is Redis {version}, and locks need what came with 6.2"
    return Finding("old-server", "serious", server.label, message, "use Redis 6.2 or newer")


def _role(server: ServerFacts) -> Finding | None:
    facts = server.facts
    if facts.get("role") != "slave":
        return None
    primary = f"{facts.get('master_host')}:{facts.get('master_port')}"
    does = "grants nothing"
    if facts.get("slave_read_only") == "0":
        does = "takes writes all the same, which the primary never sees and a resync undoes"
    message = f"{server.label} is a replica of {primary} and {does}"
    advice = f"connect to the primary, {primary}, or by redis+sentinel://"
    return Finding("replica", "serious", server.label, message, advice)


def eviction(server: ServerFacts) -> Finding | None:
    """Whether a server throws keys away when it has no room for others."""
    policy = server.facts.get("maxmemory_policy", "noeviction")
    if policy == "noeviction" or server.facts.get("maxmemory") == "0":
        return None
    message = (
        f"{server.label} evicts keys when its memory is full (maxmemory-policy {policy}), and an "
        "evicted lock is free though it is held"
    )
    advice = "set maxmemory-policy noeviction, or give locks a server of their own"
    return Finding("eviction", "serious", server.label, message, advice)


def _replicas(server: ServerFacts, terms: Expected) -> Finding | None:
    count = int(server.facts.get("connected_slaves", 0))
    if terms.replicas != 0 or server.facts.get("role") == "slave" or count == 0:
        return None
    have = "1 replica" if count == 1 else f"{count} replicas"
    if terms.quorum:
        message = f"{server.label} has {have}, and one that is promoted may vote a second time"
        advice = "let the servers of Redlock be primaries without automatic failover"
        return Finding("replicas", "serious", server.label, message, advice)
    message = (
        f"{server.label} has {have} and no grant waits for any of them (replicas=0), so that a "
        "failover can forget locks that are held"
    )
    severity = "warning" if terms.chosen else "serious"
    advice = "say replicas=1, and check tokens at the resource"
    return Finding("replicas", severity, server.label, message, advice)


def _persistence(server: ServerFacts, terms: Expected) -> Finding | None:
    saved = server.facts.get("aof_enabled") != "0"
    if terms.quorum:
        return _quorum_persistence(server, saved, terms.guarded)
    if saved or terms.guarded:
        return None
    message = f"{server.label} does not log what it writes, so a restart frees locks that are held"
    advice = "set appendonly yes, or connect with restart_guard=on"
    return Finding("persistence", "warning", server.label, message, advice)


def _quorum_persistence(server: ServerFacts, saved: bool, guarded: bool) -> Finding | None:
    if saved and guarded:
        return None
    says, always = f"{server.label} does not log what it writes", "appendfsync always"
    if guarded:
        message = f"{says}: our clients wait for its restart guard, other Redlock clients do not"
        advice = f"set appendonly yes and {always} if others share its names"
        return Finding("persistence", "info", server.label, message, advice)
    advice = f"leave restart_guard on, or set appendonly yes and {always}"
    if saved:
        message = f"{server.label} has no restart guard, so its log must be whole after a crash"
        return Finding("persistence", "info", server.label, message, advice)
    message = f"{says} and has no restart guard, so that after a restart it votes a second time"
    return Finding("persistence", "serious", server.label, message, advice)


# --- several servers -------------------------------------------------------------------------


def apart(
    servers: Sequence[ServerFacts], took: float
) -> tuple[float, ServerFacts, ServerFacts] | None:
    """The two servers whose clocks are farthest apart, and by how many seconds at least, if they
    were asked within `took` seconds; the later clock last.  None where they are together."""
    ordered = sorted(servers, key=lambda each: each.clock)
    if len(ordered) < 2:
        return None
    skew = ordered[-1].clock - ordered[0].clock - took
    return (skew, ordered[0], ordered[-1]) if skew >= APART else None


def quorum_clocks(servers: Sequence[ServerFacts], took: float, longest: float) -> list[Finding]:
    """What the clocks of servers that vote are to tokens: see docs/backends/redlock.md."""
    if (found := apart(servers, took)) is None:
        return []
    skew, behind, ahead = found
    harm, severity = "nodes grant different tokens, which costs a second round trip", "warning"
    if skew >= longest - 1:
        severity = "serious"
        harm = "tokens may not grow when nodes restart empty"
    return [_clocks(skew, behind, ahead, harm, severity)]


def replica_clocks(primary: ServerFacts, replica: ServerFacts, took: float) -> list[Finding]:
    """What the clock of a replica is to leases: it counts them by its own, once it is promoted."""
    if (found := apart((primary, replica), took)) is None:
        return []
    skew, behind, ahead = found
    harm, severity = "its tokens may be smaller than those of before", "warning"
    if ahead is replica:
        harm, severity = "it frees locks so much too early", "serious"
    return [_clocks(skew, behind, ahead, f"when {replica.label} is promoted {harm}", severity)]


def _clocks(
    skew: float, behind: ServerFacts, ahead: ServerFacts, harm: str, severity: Any
) -> Finding:
    message = (
        f"the clock of {ahead.label} is {duration(skew)} ahead of that of {behind.label}: {harm}"
    )
    return Finding("clocks", severity, ahead.label, message, "set them by NTP, on every server")
