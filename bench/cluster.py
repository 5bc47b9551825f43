"""A cluster of three primaries beside a single server: what does finding the node cost?

Neither has replicas, so that both do the same work.  For pairs the client shares one core with all
servers, and its lock lies on one of them.  A thousand tasks use whatever cores there are, because
that is what three primaries are for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import interlock
from interlock import aio
from tests.support.clusters import RedisCluster
from tests.support.servers import RedisServer

from .method import Clock, Effort, Runner, cpu_with, interleave, pinned, ratio
from .pair import pairs_of, pairs_on
from .report import Answer, Table, count, progress, times
from .tasks import TASKS, rush

ONE, THREE = "one server", "cluster of three"

#: Pairs that each of a thousand tasks does in a slice.
PER_TASK = 5


def ask(effort: Effort) -> Answer:
    """Pairs in both worlds, then a thousand tasks."""
    answer = Answer()
    columns = ("", "one server, µs", "cluster, µs", "x its time", "x its CPU")
    table = Table("a pair in a cluster beside one server (one core)", columns)
    with RedisServer() as server, RedisCluster(replicas=False) as cluster:
        urls, pids = {ONE: server.url, THREE: cluster.url}, _pids(server, cluster)
        with pinned(*pids):
            cpu = cpu_with(*pids)
            for world, measure in (("blocking", _blocking), ("asyncio", _asyncio)):
                progress(f"cluster: pair, {world}")
                figures = _compared(measure(urls, effort, cpu))
                table.add(world, *_cells(figures))
                answer.figures[f"cluster.pair.{world}"] = figures
        answer.tables += [table, _tasks(answer, urls, effort, cpu_with(*pids))]
    return answer


def _pids(server: RedisServer, cluster: RedisCluster) -> list[int]:
    return [server.pid, *(node.pid for node in cluster.nodes)]


def _cells(figures: dict[str, Any]) -> tuple[str, ...]:
    shown = (count(figures["us_one"]), count(figures["us_cluster"]))
    return (*shown, times(figures["of_one"]), times(figures["of_one_by_cpu"]))


def _compared(runners: dict[str, Runner]) -> dict[str, Any]:
    """How long a pair takes, and how many times as long as on one server."""
    one, three = runners[ONE], runners[THREE]
    return {
        "us_one": 1e6 / one.rate,
        "us_cluster": 1e6 / three.rate,
        "of_one": ratio(one.rates, three.rates),
        "of_one_by_cpu": ratio(three.costs, one.costs),
    }


def _blocking(urls: dict[str, str], effort: Effort, cpu: Clock) -> dict[str, Runner]:
    clients = {name: interlock.connect(url) for name, url in urls.items()}
    try:
        runners = [Runner(name, pairs_of(each.lock("pair"))) for name, each in clients.items()]
        return interleave(runners, effort.of(60, 15), cpu)
    finally:
        for each in clients.values():
            each.close()


def _asyncio(urls: dict[str, str], effort: Effort, cpu: Clock) -> dict[str, Runner]:
    with _clients(urls) as (loop, clients):
        runners = [
            Runner(name, pairs_on(loop, each.lock("pair"))) for name, each in clients.items()
        ]
        return interleave(runners, effort.of(60, 15), cpu)


@contextmanager
def _clients(urls: dict[str, str]) -> Iterator[tuple[asyncio.Runner, dict[str, aio.Client]]]:
    """Asyncio clients, and the loop that they live on."""
    with asyncio.Runner() as loop:
        clients = {name: aio.connect(url) for name, url in urls.items()}
        try:
            yield loop, clients
        finally:
            for each in clients.values():
                loop.run(each.close())


def _tasks(answer: Answer, urls: dict[str, str], effort: Effort, cpu: Clock) -> Table:
    progress(f"cluster: {TASKS} tasks on {TASKS} locks")
    table = Table(
        f"{TASKS} tasks on {TASKS} locks, over three primaries and on one server",
        ("", "one server, pairs/s", "cluster, pairs/s", "x its rate", "x its CPU"),
    )
    with _clients(urls) as (loop, clients):
        runners = interleave(
            [_crowd(loop, name, each) for name, each in clients.items()], effort.of(20, 6), cpu
        )
    one, three = runners[ONE], runners[THREE]
    figures = {
        "one": one.rate,
        "cluster": three.rate,
        "of_one": ratio(three.rates, one.rates),
        "of_one_by_cpu": ratio(three.costs, one.costs),
    }
    answer.figures["cluster.tasks"] = figures
    shown = (count(one.rate), count(three.rate))
    table.add("asyncio", *shown, times(figures["of_one"]), times(figures["of_one_by_cpu"]))
    return table


def _crowd(loop: asyncio.Runner, name: str, client: aio.Client) -> Runner:
    locks = [client.lock(f"task:{number}") for number in range(TASKS)]
    return Runner(name, lambda pairs: loop.run(rush(locks, pairs)), size=PER_TASK * TASKS)
