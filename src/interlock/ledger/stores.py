"""The operations of the ledger as the stores of a backend."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any

from ..errors import StoreError, StoreMisconfigured, internal
from ..model import KIND_CODES, Busy, Holder, LockInfo, Register, validity
from ..spi import PolledElections
from ..steps import Call, Steps, call, together
from . import barriers, elections, inspection, latches, locks, registers
from .records import BUSY, GRANTED, MISMATCH, OTHER_KIND, RELEASED, UNSET, WHOLE

#: Holds in one renewal: enough to be cheap, few enough for other calls to get their turn.
BATCH = 250


class LedgerLocks:
    """Locks of one kind: see `spi.LockStore`.  Every operation is one round trip."""

    shared, leases_expire = False, True
    takes_turns = False

    def __init__(self, kind: str, reentrant: bool, label: str, use: str = "") -> None:
        self.kind, self.reentrant, self.label = kind, reentrant, label
        self.kind_code = KIND_CODES[use or kind]
        self.own_places = kind == "fair_lock"

    def for_wait(self, timeout: float) -> LedgerLocks:
        return self

    def effective_lease(self, lease: float) -> float:
        return lease

    def valid_until(self, asked: float, lease: float) -> float:
        return validity(asked, lease)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        args = (self.kind, owner, lease, waits, *self._share())
        return call(locks.attempt, (name,), args, until, self._attempted)

    def _share(self) -> tuple[Any, ...]:
        """The share that an attempt asks for, where the kind does not say it."""
        return ()

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] == GRANTED:
            return int(answer[1])
        if answer[0] == BUSY:
            return Busy(answer[1], answer[2])
        raise refusal(name, self.kind, answer, self.label)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return call(locks.release, (name,), (self.kind, owner), until, _released)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        args = (self.kind, owner, reason)
        return call(locks.withdraw, (name,), args, until, _released)

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        return call(inspection.withdrawal_reason, (name,), (owner,), until)

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        batches = [holds[start : start + BATCH] for start in range(0, len(holds), BATCH)]
        calls = [self._renewal(lease, batch, until) for batch in batches]
        replies = yield from together(calls)
        answers: list[bool | StoreError] = []
        for batch, reply in zip(batches, replies, strict=True):
            answers += [reply] * len(batch) if isinstance(reply, StoreError) else reply
        return answers

    def _renewal(self, lease: float, batch: Sequence[tuple[str, str]], until: float) -> Call:
        return Call(locks.renew, (), (lease, *batch), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        return call(inspection.look, (name,), (), until, self._looked)

    def _looked(self, name: str, info: LockInfo | None) -> LockInfo | None:
        if info is not None and info.kind != self.kind:
            raise refusal(name, self.kind, (OTHER_KIND, info.kind), self.label)
        return info

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return ((name, owner),)


class LedgerRw(LedgerLocks):
    """One mode of a read/write lock: see `spi.RwStore`."""

    def __init__(self, mode: str, label: str) -> None:
        super().__init__("rwlock", True, label, mode)
        self.shared = mode == "read"

    def _share(self) -> tuple[Any, ...]:
        return (1 if self.shared else WHOLE,)

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        args = (self.kind, owner, lease)
        return call(locks.downgrade, (name,), args, until, _released)


class LedgerPermits(LedgerLocks):
    """Semaphores: see `spi.PermitStore`."""

    shared = True

    def __init__(self, kind: str, permits: int | None, weight: int, label: str) -> None:
        super().__init__(kind, False, label)
        self.permits, self.weight = permits, weight

    def _share(self) -> tuple[Any, ...]:
        return (self.weight, self.permits)

    def set_permits(self, name: str, permits: int, until: float) -> Steps[None]:
        return call(locks.set_permits, (name,), (self.kind, permits), until, self._set)

    def _set(self, name: str, answer: Any) -> None:
        if answer[0] != GRANTED:
            raise refusal(name, self.kind, answer, self.label)


class LedgerLatches(LedgerLocks):
    """Latches: see `spi.LatchStore`."""

    shared = True

    def __init__(self, label: str) -> None:
        super().__init__("latch", False, label)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        return call(latches.pass_latch, (name,), (owner, waits), until, self._attempted)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return call(latches.leave_latch, (name,), (owner,), until, _released)

    def set_count(self, name: str, count: int, until: float) -> Steps[bool]:
        return call(latches.set_count, (name,), (count,), until, self._counting)

    def open(self, name: str, until: float) -> Steps[None]:
        return call(latches.open_latch, (name,), (), until)

    def count_down(self, name: str, owner: str, until: float) -> Steps[int]:
        return call(latches.count_down, (name,), (owner,), until, self._counted)

    def _counting(self, name: str, answer: Any) -> bool:
        return bool(self._plain(name, answer)[0] == GRANTED)

    def _counted(self, name: str, answer: Any) -> int:
        return int(self._plain(name, answer)[1])

    def _plain(self, name: str, answer: Any) -> Sequence[Any]:
        if answer[0] not in (GRANTED, BUSY):
            raise refusal(name, self.kind, answer, self.label)
        return list(answer)


class LedgerRegisters:
    """Registers: see `spi.RegisterStore`.  Every operation is one round trip."""

    def fetch(self, name: str, until: float) -> Steps[Register | None]:
        return call(registers.read_register, (name,), (), until)

    def swap(self, name: str, text: str, version: int, keep: float, until: float) -> Steps[bool]:
        args = (text, version, keep)
        return call(registers.write_register, (name,), args, until, _written)


class LedgerElections(PolledElections, LedgerLocks):
    """Elections: see `spi.ElectionStore`."""

    #: A look at one's own machine costs little.
    poll = 0.2

    def __init__(self, participant: str, label: str) -> None:
        super().__init__(elections.ELECTION, False, label)
        self._participant = participant

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        args = (owner, lease, waits, self._participant)
        return call(elections.attempt, (name,), args, until, self._attempted)

    def _renewal(self, lease: float, batch: Sequence[tuple[str, str]], until: float) -> Call:
        if not self._participant:
            return super()._renewal(lease, batch, until)
        return Call(elections.renew, (), (lease, self._participant, *batch), until)


class LedgerBarriers(LedgerLocks):
    """Barriers: see `spi.BarrierStore`."""

    _leaves = False

    def __init__(self, parties: int | None, label: str) -> None:
        super().__init__(barriers.BARRIER, False, label)
        self.parties, self.own_places = parties, True
        self.leaving = copy(self)
        self.leaving._leaves = True

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        if self._leaves:
            return call(barriers.leave, (name,), (owner, lease), until, self._attempted)
        args = (owner, lease, waits, self.parties)
        return call(barriers.enter, (name,), args, until, self._attempted)

    def _renewal(self, lease: float, batch: Sequence[tuple[str, str]], until: float) -> Call:
        return Call(barriers.renew, (), (lease, *batch), until)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return call(barriers.release, (name,), (owner,), until, _released)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return call(barriers.withdraw, (name,), (owner, reason), until, _released)


class LedgerDirectory:
    """Which clients there are, and which names: see `spi.Directory`."""

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        yield from call(inspection.introduce, (), (holder,), until)
        return 3600.0

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        return call(inspection.kind_of, (name,), (), until)

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        return call(inspection.names, (), (), until)


class LedgerStores:
    """The stores of a backend that runs the ledger: see `spi.Backend`."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.locks = LedgerLocks("lock", True, label)
        self.mutexes = LedgerLocks("mutex", False, label)
        self.fair_locks = LedgerLocks("fair_lock", True, label)
        self.fenced_locks = LedgerLocks("fenced_lock", True, label)
        self.readers, self.writers = LedgerRw("read", label), LedgerRw("write", label)
        self.latches, self.directory = LedgerLatches(label), LedgerDirectory()
        self._permits, self._elections = cache(LedgerPermits), cache(LedgerElections)
        self._barriers, self.registers = cache(LedgerBarriers), LedgerRegisters()

    def semaphores(self, permits: int | None, weight: int) -> LedgerPermits:
        return self._permits("semaphore", permits, weight, self.label)

    def leased_semaphores(self, permits: int | None) -> LedgerPermits:
        return self._permits("leased_semaphore", permits, 1, self.label)

    def elections(self, participant: str) -> LedgerElections:
        return self._elections(participant, self.label)

    def barriers(self, parties: int | None) -> LedgerBarriers:
        return self._barriers(parties, self.label)


def _released(name: str, answer: int) -> bool:
    return answer == RELEASED


def _written(name: str, answer: Sequence[Any]) -> bool:
    return bool(answer[0] == GRANTED)


@internal
class OtherKind(StoreMisconfigured):
    """A name is in use as another kind."""


def refusal(name: str, kind: str, answer: Sequence[Any], store: str) -> StoreError:
    """The error for an answer that is neither a grant nor busy."""
    if answer[0] == OTHER_KIND:
        return OtherKind(
            f"{name!r} is in use as a {answer[1]}, so it cannot be a {kind}; "
            "nothing was changed; choose another name for one of the two",
            store,
        )
    if answer[0] == UNSET:
        return StoreMisconfigured(
            f"the store does not know yet how many permits {kind} {name!r} has; pass permits=, "
            "which counts the first time, or call set_permits()",
            store,
        )
    if answer[0] == MISMATCH:
        return StoreMisconfigured(
            f"barrier {name!r} is in use for {answer[1]} parties, and not for as many as this "
            "client says: let all of them say the same number; nothing was changed",
            store,
        )
    return StoreError(
        f"this acquisition of {name!r} was withdrawn, or revoked by an operator before it was "
        "claimed; acquire it again",
        store,
    )
