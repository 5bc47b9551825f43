"""What `interlock bench` measures: pairs of an acquire and a release."""

from __future__ import annotations

import secrets
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from ..api.client import Client
from ..api.connect import connect

#: How many clients want the lock at the same time.
CLIENTS = 4

#: Pictures a second of the progress bar.
FRAMES = 10

#: Is told how many seconds are over.
Progress: TypeAlias = Callable[[float], None]

#: The figures in JSON, for the pages.
FIELDS = (
    ("store", "string", "the store, without a password"),
    ("alone", "object", "one client, a free lock"),
    ("contended", "object", "four clients, one lock"),
    ("*.clients", "integer", "how many clients"),
    ("*.pairs_per_second", "number", "acquires with their releases, of all clients together"),
    ("*.median_ms, *.p99_ms", "number or null", "milliseconds from asking to having released"),
)


def measure(client: Client, url: str | None, seconds: float) -> dict[str, Any]:
    """The figures, by their names in JSON."""
    name, half = f"interlock-bench-{secrets.token_hex(4)}", seconds / 2
    client.inspect(name)  # an acquire would bear a store out of reach for a while
    with ExitStack() as stack:
        others = [stack.enter_context(connect(url)) for _ in range(CLIENTS - 1)]
        clients = [client, *others]
        for each in clients:
            with each.lock(name):
                pass  # connects, which is no part of the figure
        step = stack.enter_context(_progress(seconds))
        alone = _summary(_pairs([client], name, half, step), half, 1)
        contended = _summary(_pairs(clients, name, half, step), half, CLIENTS)
    return {"store": client._session.backend.label, "alone": alone, "contended": contended}


def _pairs(clients: Sequence[Client], name: str, seconds: float, step: Progress) -> list[float]:
    """Take and release until the time is over; how long each pair took."""
    enough = threading.Event()
    with ThreadPoolExecutor(len(clients)) as pool:
        try:
            tasks = [pool.submit(_take, each, name, enough) for each in clients]
            _let_pass(tasks, seconds, step)
        finally:
            enough.set()  # also when it is interrupted, or one of them has failed
    return [took for task in tasks for took in task.result()]


def _let_pass(tasks: Sequence[Future[Any]], seconds: float, step: Progress) -> None:
    ends = time.perf_counter() + seconds
    while (left := ends - time.perf_counter()) > 0:
        pause = min(left, 1 / FRAMES)
        if wait(tasks, pause, return_when="FIRST_COMPLETED").done:
            return  # by an error
        step(pause)


def _take(client: Client, name: str, enough: threading.Event) -> list[float]:
    lock, took = client.lock(name), list[float]()
    while not enough.is_set():
        began = time.perf_counter()
        with lock:
            pass
        took.append(time.perf_counter() - began)
    return took


def _summary(took: list[float], seconds: float, clients: int) -> dict[str, Any]:
    few = len(took) < 2
    return {
        "clients": clients,
        "pairs_per_second": round(len(took) / seconds, 1),
        "median_ms": None if few else round(statistics.median(took) * 1000, 3),
        "p99_ms": None if few else round(statistics.quantiles(took, n=100)[-1] * 1000, 3),
    }


def words(figures: dict[str, Any]) -> str:
    """The figures for people."""
    alone, contended = figures["alone"], figures["contended"]
    return "\n".join(
        (
            f"{figures['store']}, from this machine:",
            f"  one client, a free lock    {_figure(alone)}",
            f"  {contended['clients']} clients, one lock        {_figure(contended)}",
        )
    )


def _figure(part: dict[str, Any]) -> str:
    rate = f"{part['pairs_per_second']:9,.0f} pairs a second"
    if part["median_ms"] is None:
        return rate
    return f"{rate}, {part['median_ms']:.2f} ms in the median, {part['p99_ms']:.2f} ms at 99 %"


@contextmanager
def _progress(seconds: float) -> Iterator[Progress]:
    """A bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda passed: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("measuring"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=seconds)
        yield lambda passed: bar.advance(task, passed)
