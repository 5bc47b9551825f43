"""The records of a store in memory: dictionaries, changed under the mutex of `memory_store.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from ....ledger import Declared, Held, Queued
from ....model import TOMBSTONE, Holder, Register

#: Registers that are kept without a look at which of them have ended.
SWEEP = 64


class MemoryRecords:
    """See `ledger.Records`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.holds: dict[str, dict[str, tuple[str, int, float]]] = {}
        self.tokens: dict[str, int] = {}
        self.declarations: dict[str, Declared] = {}
        self.queues: dict[str, dict[str, int]] = {}
        self.tombs: dict[str, tuple[float, str]] = {}
        self.clients: dict[str, Holder] = {}
        self.listeners: dict[tuple[str, str], Callable[[], None]] = {}
        #: Texts, and when they end; those that have ended are removed when there are so many.
        self.registers: dict[str, tuple[Register, float]] = {}
        self._sweep_at = SWEEP
        self.token = 0

    # --- holders -----------------------------------------------------------------------------

    def held(self, name: str) -> list[Held]:
        shares = self.holds.get(name)
        if shares is None:
            return []
        live: list[Held] = []
        at = self.clock()
        for owner, (kind, weight, until) in list(shares.items()):
            if until > at:
                live.append(Held(kind, owner, weight, until - at, self.tokens.get(owner, 0)))
            else:
                self.drop(name, owner)
        return live

    def put(self, name: str, kind: str, owner: str, weight: int, lease: float) -> None:
        # No call stands between the two changes, so a Ctrl-C cannot come between them.
        shares, until = self.holds.get(name, {}), self.clock() + lease
        shares[owner] = kind, weight, until
        self.holds[name] = shares

    def drop(self, name: str, owner: str) -> None:
        # No call follows the first change, so a Ctrl-C cannot leave half of it.
        shares = self.holds.get(name, {})
        if owner in self.tokens:
            del self.tokens[owner]
        if owner in shares:
            del shares[owner]
            if not shares:
                del self.holds[name]

    def next_token(self, name: str, owner: str) -> int:
        self.token = max(self.token + 1, int(self.clock() * 1e6))
        if owner in self.holds.get(name, ()):
            self.tokens[owner] = self.token
        return self.token

    # --- declarations --------------------------------------------------------------------------

    def declared(self, name: str) -> Declared | None:
        return self.declarations.get(name)

    def declare(self, name: str, kind: str, number: int) -> None:
        self.declarations[name] = Declared(kind, number)

    def undeclare(self, name: str) -> None:
        self.declarations.pop(name, None)

    # --- registers -----------------------------------------------------------------------------

    def register(self, name: str) -> Register | None:
        register, until = self.registers.get(name, (None, 0.0))
        return register if until > self.clock() else None

    def set_register(self, name: str, text: str, keep: float) -> None:
        at = self.clock()
        self.registers[name] = Register(text, self.next_token("", "")), at + keep
        if len(self.registers) > self._sweep_at:
            ended = [each for each, (_, until) in self.registers.items() if until <= at]
            for each in ended:
                del self.registers[each]
            self._sweep_at = 2 * len(self.registers) + SWEEP

    # --- the queue -----------------------------------------------------------------------------

    def head(self, name: str) -> Queued | None:
        queue = self.queues.get(name)
        return None if queue is None else next((Queued(*each) for each in queue.items()), None)

    def enqueue(self, name: str, owner: str, weight: int) -> None:
        self.queues.setdefault(name, {}).setdefault(owner, weight)

    def dequeue(self, name: str, owner: str) -> None:
        queue = self.queues.get(name)
        if queue is not None:
            queue.pop(owner, None)
            if not queue:
                del self.queues[name]

    def waiting(self, name: str) -> int:
        return len(self.queues.get(name, ()))

    def hears(self, name: str, owner: str) -> bool:
        return (name, owner) in self.listeners

    def wake(self, name: str, owner: str) -> bool:
        listener = self.listeners.get((name, owner))
        if listener is not None:
            listener()
        return listener is not None

    # --- tombstones and clients ----------------------------------------------------------------

    def buried(self, owner: str) -> bool:
        return owner in self.tombs and self.tombs[owner][0] > self.clock()

    def bury(self, owner: str, reason: str) -> None:
        now = self.clock()
        reason = reason or self.reason(owner)
        self.tombs.pop(owner, None)
        self.tombs[owner] = now + TOMBSTONE, reason
        # Tombstones are in the order of their ends: the first one that lasts ends the sweep.
        for each, (until, _) in list(itertools.islice(self.tombs.items(), 2)):
            if until <= now:
                del self.tombs[each]

    def reason(self, owner: str) -> str:
        return self.tombs[owner][1] if owner in self.tombs else ""

    def describe(self, owner: str) -> Holder:
        client = self.clients.get(owner.rpartition(":")[0])
        if client is None:
            return Holder(owner)
        return Holder(owner, client.host, client.pid, client.program)

    def introduce(self, holder: Holder) -> None:
        self.clients[holder.owner] = holder

    def names(self) -> list[str]:
        return list({**self.declarations, **self.holds})
