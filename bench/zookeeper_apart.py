"""ZooKeeper from a distance, and between two processes.

Nothing is pinned here: several processes and a server do not fit on one core.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median

from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from . import programs
from .bare_zookeeper import CURATOR, ENTRANTS, KAZOO, LOCK, OURS, PEER, hang_up
from .foreign import Crossing, Told
from .handoff import Relay, measure, summary
from .method import Effort
from .peers import Entrant
from .programs import Program
from .report import Answer, Table, count, progress, times
from .workers import Worker

#: Seconds that a far server is away, to and fro.
FAR = 0.010

_proxy: ZkProxy | None = None


def far(answer: Answer, server: ZooKeeperServer, folder: str, effort: Effort) -> None:
    progress("zookeeper: a far server")
    with Worker() as between, ExitStack() as stack:
        hosts: str = between.ask(forward, server.port)
        taken: dict[str, Callable[[], float]] = {
            each.name: _timed(each, hosts) for each in ENTRANTS
        }
        if folder:
            jvm = stack.enter_context(programs.curator(folder, hosts))
            taken[CURATOR] = _timed_there(jvm)
        for take in taken.values():
            take()
        between.ask(hold_up, FAR / 2)
        samples: dict[str, list[float]] = {name: [] for name in taken}
        for _ in range(effort.of(40, 15)):
            for name in random.sample([*taken], len(taken)):
                samples[name].append(taken[name]())
        hang_up()
    table = Table(f"ZooKeeper, {FAR * 1e3:.0f} ms away: an acquire (ms)", ("", "p50", "delays"))
    for name, each in samples.items():
        p50 = median(each)
        table.add(name, f"{p50 * 1e3:.1f}", times(p50 / FAR))
        answer.figures[f"zookeeper.far.{name}"] = {"ms": p50 * 1e3, "delays": p50 / FAR}
    answer.tables.append(table)


def _timed(entrant: Entrant, hosts: str) -> Callable[[], float]:
    guard = entrant.make(hosts, f"far-{entrant.name.replace(' ', '-')}")

    def take() -> float:
        began = time.perf_counter()
        with guard:
            return time.perf_counter() - began

    return take


def _timed_there(jvm: Program) -> Callable[[], float]:
    def take() -> float:
        took = jvm.ask("time", "lock", "far-theirs")
        jvm.ask("free", "lock", "far-theirs", 0)
        return took / 1e9

    return take


def forward(port: int) -> str:
    """Stand between clients and a server; in a process of its own, which counts for nobody."""
    global _proxy
    _proxy = ZkProxy(port)
    return _proxy.hosts


def hold_up(seconds: float) -> None:
    """Let every message take so long from now on."""
    if _proxy is not None:
        _proxy.delay(up=seconds, down=seconds)


# --- hand-off ---------------------------------------------------------------------------------


def handoff(answer: Answer, server: ZooKeeperServer, folder: str, effort: Effort) -> None:
    progress("zookeeper: hand-off")
    with ExitStack() as stack:
        relay = Relay(server.hosts, *(stack.enter_context(Worker()) for _ in range(2)))
        samples = measure(relay, [OURS, PEER], effort.of(20, 6))
        found = summary(samples, KAZOO)
        if folder:
            jvms = [stack.enter_context(programs.curator(folder, server.hosts)) for _ in range(2)]
            theirs = Entrant(CURATOR, OURS.make)
            told = Told(jvms[0], jvms[1], "lock", 400 if effort.quick else 2000)
            beside = measure(Crossing(relay, told, theirs), [OURS, theirs], effort.of(20, 6))
            found[CURATOR] = summary(beside, LOCK)[CURATOR]
            found[LOCK]["of_curator"] = summary(beside, CURATOR)[LOCK]["of_limit"]
    table = Table(
        "ZooKeeper, hand-off: one process releases, the other holds it (µs)", ("", "p50", "p95")
    )
    for name, figures in found.items():
        table.add(name, count(figures["p50_us"]), count(figures["p95_us"]))
        answer.figures[f"zookeeper.handoff.{name}"] = figures
    answer.tables.append(table)
