"""The bars of ZooKeeper."""

from __future__ import annotations

from .bare_zookeeper import LOCK, SEMAPHORE
from .bars import Bar, at
from .kernel_bars import part

_FAR = f"zookeeper.far.{LOCK}"

BARS: tuple[Bar, ...] = (
    part("12", "lock() pair, x kazoo's Lock", f"zookeeper.pair.{LOCK}", 1.4),
    part("12", "aio lock() pair, x kazoo's Lock", "zookeeper.pair.aio lock()", 1.4),
    part("12", "semaphore() pair, x kazoo's Semaphore", f"zookeeper.pair.{SEMAPHORE}", 1.0),
    Bar("12", "an acquire from 10 ms away, ms", at(_FAR, "ms"), "<=", 13.0),
)
