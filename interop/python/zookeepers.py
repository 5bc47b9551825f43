"""Does with Interlock on ZooKeeper what it reads.

Arguments: the URL of the servers, and the world, `threads` or `tasks`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import interlock
from tests.support.worlds import WORLDS

from . import contenders
from .lines import obey
from .ours import make


class Peer:
    """Holds by their handles; and contenders of several makes."""

    def __init__(self, url: str, world: str) -> None:
        self._url, self._world = url, WORLDS[world]()
        self._client = self._world.connect(url)
        self._holds: dict[str, Any] = {}

    def perform(self, command: dict[str, Any]) -> Any:
        return getattr(self, "do_" + command["verb"])(command)

    def do_acquire(self, command: dict[str, Any]) -> int:
        """Take it; answers the token."""
        lock = make(self._client, command["kind"], command["name"], **command.get("terms", {}))
        hold = self._world.do(lock.acquire)
        self._holds[command["handle"]] = hold
        return int(hold.token)

    def do_lead(self, command: dict[str, Any]) -> int:
        """Wait for a term of an election; answers its token."""
        election = self._client.election(command["name"], participant=command["identity"])
        term = self._holds[command["handle"]] = self._world.do(election.lead().acquire)
        return int(term.token)

    def do_enter(self, command: dict[str, Any]) -> int:
        """Come to a barrier as the last party; answers the token."""
        barrier = self._client.barrier(command["name"], command["parties"])
        party = self._holds[command["name"]] = self._world.do(barrier.enter)
        return int(party.token)

    def do_act(self, command: dict[str, Any]) -> str:
        """What a careful holder finds out before it does anything: empty when all is well."""
        try:
            self._holds[command["handle"]].ensure()
        except interlock.LockLost as lost:
            return str(lost)
        return ""

    def do_contend(self, command: dict[str, Any]) -> list[dict[str, list[Any]]]:
        """Let each of those named want the same name; tells what became of each."""
        makes = command["contenders"]
        wishes = [
            contenders.Wish(command, self._url, f"{make}{number}")
            for number, make in enumerate(makes)
        ]
        with ThreadPoolExecutor(len(makes)) as pool:
            work = [contenders.CONTENDERS[make] for make in makes]
            list(pool.map(lambda does, wish: does(wish), work, wishes))
        return [wish.told for wish in wishes]


if __name__ == "__main__":
    obey(Peer(*sys.argv[1:]).perform)
