"""The bars of a Redis Cluster, beside a single server in the same rounds."""

from __future__ import annotations

from .bars import Bar, at

BARS: tuple[Bar, ...] = (
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
