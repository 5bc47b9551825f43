"""The bars of a Redis Cluster, beside a single server and beside others, in the same rounds."""

from __future__ import annotations

from .bars import Bar, at
from .cluster_peers import LOCK, MUTEX, REDISSON, REDSYNC, TITLE
from .contest import GO, JAVA, THREADS

SINGLE = (
    *(
        Bar(
            "10",
            f"cluster, {world}: pair, x the time of one server's",
            at(f"cluster.pair.{world}", "of_one"),
            "<=",
            1.1,
        )
        for world in ("blocking", "asyncio")
    ),
    Bar(
        "10", "cluster: 1,000 tasks, x one server's rate", at("cluster.tasks", "of_one"), ">=", 1.0
    ),
)

PEERS = tuple(
    Bar(
        "10",
        f"cluster, {ours}, x {theirs}",
        at(f"{TITLE}.one core.{ours} beside {theirs}", "of_peer"),
        ">=",
        1.0,
        None,
        at(f"{TITLE}.one core.{ours} beside {theirs}", "of_peer_by_cpu"),
    )
    for ours, theirs in (
        (f"{THREADS}: {LOCK}", f"{JAVA}: {REDISSON}"),
        (f"{THREADS}: {MUTEX}", f"{GO}: {REDSYNC}"),
    )
)

BARS: tuple[Bar, ...] = (*SINGLE, *PEERS)
