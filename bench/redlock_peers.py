"""A lock over five servers, beside others that do the same and beside bare programs.

Those that are not installed or built do not take part.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack

from tests.support.redlocks import RedlockServers

from .contest import ASYNCIO, CORES, GO, JAVA, THREADS, Contest
from .method import Effort, Runner
from .redlock_entrants import (
    ALL,
    BARE,
    BARE_ASYNC,
    LOCK,
    MUTEX,
    REDISSON,
    REDSYNC,
    VotingGround,
)
from .report import Answer

TITLE, BEST = "Redlock pair", "the best peer"

LIMITS = {THREADS: f"{THREADS}: {BARE}", ASYNCIO: f"{ASYNCIO}: {BARE_ASYNC}"}


def ask(effort: Effort) -> Answer:
    """On all cores and on one, then beside a node that hangs; all in one run."""
    answer = Answer()
    with (
        tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder,
        RedlockServers() as servers,
        asyncio.Runner() as loop,
        ExitStack() as stack,
    ):
        servers.let_vote()
        ground = VotingGround(servers.servers, loop, folder, stack, servers)
        contest = Contest(TITLE, ground, ALL, LIMITS, answer)
        contest.warm_up(effort)
        for label in CORES:
            _compare(contest, label, contest.race(label, effort.of(30, 6)))
        contest.beside(range(5), effort.of(3, 1))
    return answer


def _compare(contest: Contest[VotingGround], label: str, found: dict[str, Runner]) -> None:
    for world in (THREADS, ASYNCIO):
        peers = [each for each in found.values() if _is_peer(each.name, world)]
        if peers:
            best = max(peers, key=lambda each: each.rate)
            contest.compare(label, found, f"{world}: {MUTEX}", best.name, BEST)
    contest.compare(label, found, f"{THREADS}: {LOCK}", f"{JAVA}: {REDISSON}")
    contest.compare(label, found, f"{THREADS}: {MUTEX}", f"{GO}: {REDSYNC}")


def _is_peer(name: str, world: str) -> bool:
    return name.startswith(world) and "interlock" not in name and "bare" not in name
