"""ZooKeeper: pairs, a server that is far away, a hand-off, and a thousand tasks.

Beside kazoo's own recipes, whose connection is the same kind as ours, and beside Curator, a JVM
that loops by itself.  Pairs and tasks: client and server share one core, Curator as well.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from interlock import aio
from tests.support.zookeepers import ZooKeeperServer

from . import programs, zookeeper_apart
from .bare_zookeeper import (
    CURATOR,
    ENTRANTS,
    KAZOO,
    KAZOO_SEMAPHORE,
    LIMIT,
    SEMAPHORE,
    Pipelined,
    hang_up,
    started,
)
from .foreign import ABSENT
from .method import (
    Clock,
    Effort,
    Runner,
    compare,
    cpu_of_all,
    interleave,
    pinned,
    ratio,
    threads_of,
)
from .pair import pairs_of, pairs_on
from .peers import AsyncGuard
from .programs import Program
from .report import Answer, Table, count, progress, times
from .tasks import TASKS, rush

AIO_LOCK, AIO_SEMAPHORE = "aio lock()", "aio semaphore()"
CURATOR_SEMAPHORE = "Curator InterProcessSemaphoreV2"
#: Whom each is compared with, if it is not the lock.
PEERS: dict[str, str] = dict.fromkeys(
    (SEMAPHORE, AIO_SEMAPHORE, CURATOR_SEMAPHORE, KAZOO_SEMAPHORE), KAZOO_SEMAPHORE
)


def ask(effort: Effort) -> Answer:
    """Curator takes part where it was built."""
    answer = Answer()
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        java = _compiled(folder)
        if not java:
            answer.notes.append(ABSENT.format("Curator"))
        with ZooKeeperServer() as server:
            for part in (_pairs, zookeeper_apart.far, zookeeper_apart.handoff, _tasks):
                part(answer, server, folder if java else "", effort)
                hang_up()
    return answer


def _compiled(folder: str) -> bool:
    if not programs.has_curator():
        return False
    try:
        programs.compile_curator(folder)
    except subprocess.CalledProcessError:
        return False
    return True


# --- pairs ------------------------------------------------------------------------------------


def _pairs(answer: Answer, server: ZooKeeperServer, folder: str, effort: Effort) -> None:
    progress("zookeeper: pairs")
    with ExitStack() as stack:
        jvm = stack.enter_context(programs.curator(folder, server.hosts)) if folder else None
        if jvm is not None:
            _warm(jvm, effort.seconds(8.0, 2.0))
        threads = [*threads_of(server.pid), *(threads_of(jvm.pid) if jvm else ())]
        stack.enter_context(pinned(*threads))
        runners = [*_blocking(server.hosts), *stack.enter_context(_asyncio(server))]
        if jvm is not None:
            runners += _told(jvm, server.pid)
        found = interleave(runners, effort.of(40, 12), _cpu_with(server.pid))
    _report(answer, found)


def _cpu_with(pid: int) -> Clock:
    """Both have several threads, so all of them count."""
    return lambda: time.process_time() + cpu_of_all(pid)


def _warm(jvm: Program, seconds: float) -> None:
    """A just-in-time compiler has to see everything run for a while, with all cores."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for word in ("lock", "semaphore"):
            jvm.ask("pairs", word, f"warm-{word}", 50)


def _blocking(hosts: str) -> list[Runner]:
    return [
        Runner(each.name, pairs_of(each.make(hosts, f"pair{i}")))
        for i, each in enumerate(ENTRANTS)
    ]


@contextmanager
def _asyncio(server: ZooKeeperServer) -> Iterator[list[Runner]]:
    with asyncio.Runner() as loop:
        client = aio.connect(server.url())
        guards: dict[str, AsyncGuard] = {
            AIO_LOCK: client.lock("a"),
            AIO_SEMAPHORE: client.semaphore("b", permits=4),
        }
        try:
            yield [Runner(name, pairs_on(loop, guard)) for name, guard in guards.items()]
        finally:
            loop.run(client.close())


def _told(jvm: Program, server: int) -> list[Runner]:
    def pairs(word: str) -> Callable[[int], int]:
        return lambda n: jvm.ask("pairs", word, f"theirs-{word}", n) and n

    def cpu() -> float:
        return cpu_of_all(jvm.pid) + cpu_of_all(server)

    return [
        Runner(CURATOR, pairs("lock"), cpu=cpu),
        Runner(CURATOR_SEMAPHORE, pairs("semaphore"), cpu=cpu),
    ]


def _report(answer: Answer, found: dict[str, Runner]) -> None:
    table = Table(
        "ZooKeeper, pairs: nobody else wants it (one core)",
        ("", "pairs/s", "x kazoo's", "quartiles", "by CPU", "of the limit", "CPU µs"),
    )
    for runner in sorted(found.values(), key=lambda each: -each.rate):
        figures = compare(runner, found[PEERS.get(runner.name, KAZOO)])
        low, high = figures["quartiles"]
        table.add(
            runner.name,
            count(runner.rate),
            times(figures["of_limit"]),
            f"{low:.2f}-{high:.2f}",
            times(figures["of_limit_by_cpu"]),
            times(ratio(runner.rates, found[LIMIT].rates)),
            count(figures["cpu_us"]),
        )
        answer.figures[f"zookeeper.pair.{runner.name}"] = figures
    answer.tables.append(table)


# --- a thousand tasks -------------------------------------------------------------------------


def _tasks(answer: Answer, server: ZooKeeperServer, _: str, effort: Effort) -> None:
    progress(f"zookeeper: {TASKS} tasks on {TASKS} locks")
    with pinned(*threads_of(server.pid)), asyncio.Runner() as loop:
        client, kazoo = aio.connect(server.url()), started(server.hosts)
        locks = [client.lock(f"task{i}") for i in range(TASKS)]
        bare = [Pipelined(kazoo, f"bare{i}") for i in range(TASKS)]
        runners = [
            Runner(LIMIT, lambda _: _rushed(bare), size=TASKS),
            Runner(AIO_LOCK, lambda n: loop.run(rush(locks, n)), size=TASKS),
        ]
        found = interleave(runners, effort.of(12, 5), _cpu_with(server.pid))
        loop.run(client.close())
    figures = compare(found[AIO_LOCK], found[LIMIT])
    table = Table(
        f"ZooKeeper, {TASKS} tasks on as many locks (one core)", ("", "pairs/s", "of it")
    )
    for name, runner in found.items():
        table.add(name, count(runner.rate), times(ratio(runner.rates, found[LIMIT].rates)))
    answer.figures[f"zookeeper.tasks.{AIO_LOCK}"] = figures
    answer.tables.append(table)


def _rushed(locks: Sequence[Pipelined]) -> None:
    """All at once, over one connection, in one thread."""
    for lock, asked in [(lock, lock.ask()) for lock in locks]:
        lock.heard(asked)
    for left in [lock.leave() for lock in locks]:
        left.get()
