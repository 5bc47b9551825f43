"""What is done to the primary and to its replicas.

A replica lags by CLIENT PAUSE … WRITE: it goes on reading from its primary and answers Sentinels,
but carries nothing out and acknowledges nothing.  What it had only read is gone with its primary,
as it would be if it had still been on its way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.sentinels import SERVICE, SentinelFleet, SentinelServer, awaited
from tests.support.servers import RedisServer

#: Replicas of the smallest number but 0 are promoted first.
CHOSEN, USUAL = 1, 100

#: Milliseconds for which a replica lags, unless it is told to go on.
LONG = 30_000

#: Seconds in which a replica notices that its primary has gone.
NOTICED = 0.1


@dataclass(frozen=True)
class Fault:
    """How a primary is replaced, and how many of its replicas lag before; the one that lags is
    promoted."""

    name: str
    strike: Callable[[RedisServer], None]
    lagging: int = 0
    #: Sentinels that do not hurry leave an old primary writable for about ten seconds.
    hurry: bool = True

    @property
    def freezes(self) -> bool:
        return self.strike is RedisServer.pause


FAULTS = (
    Fault("killed", RedisServer.kill),
    Fault("frozen, back later", RedisServer.pause, hurry=False),
    Fault("killed, the promoted replica lags", RedisServer.kill, lagging=1),
    Fault("killed, both replicas lag", RedisServer.kill, lagging=2),
)


class Strike:
    """One fault, from before it until all servers are well again."""

    def __init__(self, fleet: SentinelFleet, fault: Fault) -> None:
        self._fleet, self.fault = fleet, fault
        self.old = fleet.primary()
        self._lagging = fleet.replicas()[: fault.lagging]
        if fault.lagging == 1:
            self._prefer(self._lagging[0])

    def _prefer(self, chosen: RedisServer) -> None:
        for each in self._fleet.servers:
            self._tell(each, "CONFIG", "SET", "replica-priority", _priority(each is chosen))
        awaited(lambda: all(map(self._knows, self._fleet.sentinels)), "the priorities")

    def _knows(self, sentinel: SentinelServer) -> bool:
        with self._fleet.ask(sentinel) as client:
            found = client.execute_command("SENTINEL", "REPLICAS", SERVICE)
        texts = [[word.decode() for word in words] for words in found]
        replicas = [dict(zip(words[::2], words[1::2], strict=True)) for words in texts]
        ports = {each.port for each in self._lagging}
        return all(
            int(each["slave-priority"]) == _priority(int(each["port"]) in ports)
            for each in replicas
        )

    def _tell(self, server: RedisServer, *words: object) -> None:
        with self._fleet.ask(server) as client:
            client.execute_command(*words)

    # --- in this order -----------------------------------------------------------------------

    def lag(self) -> None:
        for each in self._lagging:
            self._tell(each, "CLIENT", "PAUSE", LONG, "WRITE")

    def strike(self) -> float:
        """When it was done."""
        self.fault.strike(self.old)
        at = time.monotonic()
        if self._lagging:
            time.sleep(NOTICED)
            for each in self._lagging:
                self._tell(each, "CLIENT", "UNPAUSE")
        return at

    def promoted(self) -> RedisServer | None:
        """The server that is a primary now."""
        for each in self._fleet.servers:
            if each is not self.old and self._fleet.role(each)[:1] == [b"master"]:
                return each
        return None

    def is_known(self, new: RedisServer) -> bool:
        """Whether all Sentinels name the new primary."""
        return all(self._fleet.seen_by(each) == new.port for each in self._fleet.sentinels)

    def come_back(self) -> None:
        """The old primary goes on, or is started again."""
        if self.fault.freezes:
            self.old.resume()
        else:
            self.old.start()

    def mend(self) -> None:
        """Wait until the primary, whichever it is by now, has two replicas again."""
        if self.fault.lagging == 1:
            for each in self._fleet.servers:
                self._tell(each, "CONFIG", "SET", "replica-priority", USUAL)
        awaited(lambda: self._fleet.settled(self._fleet.primary()), "the fleet to settle")

    def is_as_meant(self, new: RedisServer) -> bool:
        """Whether the right server was promoted, and is the primary still."""
        meant = self.fault.lagging != 1 or new is self._lagging[0]
        return meant and self._fleet.primary() is new


def _priority(chosen: bool) -> int:
    return CHOSEN if chosen else USUAL
