"""One failover, with all contestants in the midst of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import redis

from tests.support.sentinels import SERVICE, SentinelFleet
from tests.support.servers import RedisServer

from .. import programs
from ..programs import Program
from .faults import Fault, Strike
from .judging import Claim, Failover, Score, Snapshot, judge

#: Seconds from the beginning to the lag and to the fault; up to then names are taken one by one,
#: and the last quarter of them at the very moment of the fault.
LAG_AT, STRIKE_AT = 0.4, 1.0

#: Seconds after the promotion until a primary that was frozen goes on, in turn.  One that was
#: killed is started again, empty, when all Sentinels know the new one: before, they may make it
#: the primary again, which is another accident.
COMING_BACK = (0.0, 0.5, 1.0, 1.5, 2.0)

#: Seconds for what a busy machine adds.
SLACK = 1.2

#: Seconds between two looks at the new primary.
LOOK = 0.1

#: Seconds within which another server should be promoted.
PATIENCE = 40.0


class Size(NamedTuple):
    """How many names are taken before and at the fault, and how many after it; seconds of their
    leases, for how many seconds they are watched after the old primary has come back, and after
    how many seconds it comes."""

    early: int
    late: int
    lease: float
    watched: float
    back: Sequence[float] = COMING_BACK


def usual_size(locks: int, lease: float, back: Sequence[float] = COMING_BACK) -> Size:
    """They are watched until every holder should have been told: for twice a third of a lease,
    because one renewal may still have reached an old primary, and a little longer."""
    return Size(locks - locks // 3, locks // 3, lease, 2 / 3 * lease + SLACK, back)


class Contestant(NamedTuple):
    """A library, and how to start a process with its clients; whether it keeps hashes or texts."""

    name: str
    start: Callable[[SentinelFleet, float], Program]
    command: str = "HKEYS"


def in_python(name: str, library: str, command: str = "HKEYS") -> Contestant:
    def start(fleet: SentinelFleet, lease: float) -> Program:
        module = [sys.executable, "-m", "bench.failovers.contestant"]
        return Program([*module, library, fleet.hosts, SERVICE, str(lease)])

    return Contestant(name, start, command)


def in_java(name: str, kind: str, folder: str) -> Contestant:
    def start(fleet: SentinelFleet, lease: float) -> Program:
        return programs.redisson_failovers(folder, kind, fleet.hosts, SERVICE, lease)

    return Contestant(name, start)


UNCONFIRMED, DEFAULT = "Interlock, replicas=0", "Interlock, default"
REDIS_PY = "redis-py Lock"

PYTHON = (
    in_python(UNCONFIRMED, "interlock=0"),
    in_python(DEFAULT, "interlock"),
    in_python("Interlock, replicas=1", "interlock=1"),
    in_python("Interlock, replicas=2", "interlock=2"),
    in_python("Interlock, replicas=all", "interlock=all"),
    in_python(REDIS_PY, "redis-py", "GET"),
)


class Field:
    """The contestants, started and connected to one fleet."""

    def __init__(
        self, fleet: SentinelFleet, contestants: Sequence[Contestant], size: Size
    ) -> None:
        self._fleet, self._contestants, self._size = fleet, contestants, size
        self._rounds = 0
        self._programs: list[Program] = []
        try:
            for each in contestants:
                self._programs.append(each.start(fleet, size.lease))
        except BaseException:
            self.close()
            raise

    def play(self, fault: Fault) -> dict[str, Score] | None:
        """One failover; None if it went otherwise than it was meant to."""
        self._rounds += 1
        self._tell("ready", f"ready-{self._rounds}")
        strike = Strike(self._fleet, fault)
        began = self._begin()
        _sleep_until(began + LAG_AT)
        strike.lag()
        _sleep_until(began + STRIKE_AT)
        new, failover = self._watch(strike, strike.strike())
        said = self._tell("end")
        stayed = all(each.primary for each in failover.snapshots)
        as_meant = stayed and strike.is_as_meant(new)
        strike.mend()
        return self._judged(said, failover) if as_meant else None

    def _begin(self) -> float:
        """Names are taken from now on."""
        instants = ",".join(str(int(each * 1000)) for each in self._instants())
        for program, prefix in zip(self._programs, self._prefixes(), strict=True):
            program.tell("begin", prefix, instants)
        began = time.monotonic()
        for program in self._programs:
            program.line()
        return began

    def _instants(self) -> list[float]:
        early = self._size.early
        before = early - early // 4
        return [min(STRIKE_AT, STRIKE_AT * each / before) for each in range(early)]

    def _watch(self, strike: Strike, struck: float) -> tuple[RedisServer, Failover]:
        """Look at the new primary until every holder should have been told."""
        new = self._await_promotion(strike)
        failover = Failover(struck, time.monotonic(), [self._look(new)])
        if strike.fault.freezes:
            back = self._size.back
            self._look_for(back[self._rounds % len(back)], new, failover)
            strike.come_back()
            self._late()
        else:
            self._late()
            while not strike.is_known(new):
                self._look_for(LOOK, new, failover)
            strike.come_back()
        self._look_for(self._size.watched, new, failover)
        return new, failover

    def _late(self) -> None:
        self._tell("late", self._size.early, self._size.early + self._size.late)

    def _look_for(self, seconds: float, new: RedisServer, failover: Failover) -> None:
        instant = time.monotonic() + seconds
        while time.monotonic() < instant:
            failover.snapshots.append(self._look(new))
            time.sleep(min(LOOK, max(0.0, instant - time.monotonic())))

    def _await_promotion(self, strike: Strike) -> RedisServer:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if new := strike.promoted():
                return new
            time.sleep(0.01)
        raise TimeoutError("no other server was promoted")

    def _look(self, server: RedisServer) -> Snapshot:
        names = [
            (each.command, f"{prefix}:{number}")
            for each, prefix in zip(self._contestants, self._prefixes(), strict=True)
            for number in range(self._size.early + self._size.late)
        ]
        with redis.Redis(port=server.port, socket_timeout=5.0, protocol=2) as client:
            pipe = client.pipeline(transaction=False)
            pipe.execute_command("ROLE")
            for command, name in names:
                pipe.execute_command(command, name)
            before = time.monotonic()
            role, *found = pipe.execute()
            after = time.monotonic()
        owners = {name: _owners(reply) for (_, name), reply in zip(names, found, strict=True)}
        return Snapshot(before, after, owners, role[0] == b"master")

    def _prefixes(self) -> list[str]:
        return [f"{place}-{self._rounds}" for place in range(len(self._contestants))]

    def _judged(self, said: Sequence[Any], failover: Failover) -> dict[str, Score]:
        return {
            each.name: judge([Claim(*c) for c in answer["claims"]], failover, answer["refused"])
            for each, answer in zip(self._contestants, said, strict=True)
        }

    def _tell(self, *words: object) -> list[Any]:
        """Tell all of them something, and collect their answers."""
        for program in self._programs:
            program.tell(*words)
        return [json.loads(program.line()) for program in self._programs]

    def close(self) -> None:
        for program in self._programs:
            program.close()


def _owners(reply: Any) -> frozenset[str]:
    found = reply if isinstance(reply, list) else [reply] if reply else []
    return frozenset(each.decode() for each in found)


def _sleep_until(instant: float) -> None:
    time.sleep(max(0.0, instant - time.monotonic()))
