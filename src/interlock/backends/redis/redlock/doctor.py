"""What makes locks over several nodes unsafe: each node is looked at, and their clocks."""

from __future__ import annotations

from ....drive import now
from ....errors import StoreError
from ....model import Finding
from ....recipes.agreement import majority
from ....steps import Steps, at_node, side_by_side, together
from ..collisions import collisions
from ..directory import RedisDirectory
from ..doctor import Expected, ServerFacts, asked, of_servers, quorum_clocks, read
from .url import RedlockSettings
from .votes import no_majority


def examine(settings: RedlockSettings, until: float, thorough: bool) -> Steps[list[Finding]]:
    """Look at every node; a majority has to answer.  One round trip, and more for names."""
    labels, began = [node.label for node in settings.nodes], now()
    replies = yield from together([asked(until, node) for node in range(len(labels))])
    took = now() - began
    failures = [reply for reply in replies if isinstance(reply, StoreError)]
    if len(labels) - len(failures) < majority(len(labels)):
        raise no_majority(len(labels), failures, settings.label)
    servers = [read(*each) for each in zip(labels, replies, strict=True)]
    seen = [server for server in servers if isinstance(server, ServerFacts)]
    found = of_servers(servers, Expected(guarded=settings.restart_guard, quorum=True))
    found += quorum_clocks(seen, took, settings.longest_lease)
    return found + ((yield from _names(settings.label, replies, until)) if thorough else [])


def _names(label: str, replies: list[object], until: float) -> Steps[list[Finding]]:
    """Names that collide, on whichever node: those that answer are looked at side by side."""
    well = [node for node, reply in enumerate(replies) if not isinstance(reply, StoreError)]
    batches = RedisDirectory().batches
    looks = yield from side_by_side(
        *(at_node(node, collisions(label, batches, until)) for node in well)
    )
    found: dict[Finding, None] = {}
    for outcome in looks:
        if not isinstance(outcome, BaseException):
            found.update(dict.fromkeys(outcome))
        elif not isinstance(outcome, StoreError):
            raise outcome
    return list(found)
