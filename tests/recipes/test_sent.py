"""Cancelling at every turn of the loop: what was sent is settled before anything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interlock.backends.memory.aio import MemoryAsyncLink
from interlock.backends.memory.transport.memory_store import MemoryStore
from interlock.drive import arun, now
from interlock.ledger import LedgerLocks
from interlock.model import Grant
from interlock.recipes.lock import Acquisition, acquire, release
from interlock.steps import Call
from interlock.tasks import Sent

#: Turns of the loop that a request needs to its store, and its reply back.
THERE, BACK = 3, 3

STORE = LedgerLocks("lock", True, "turns")


class TurnLink(MemoryAsyncLink):
    """A link whose calls take some turns of the loop; what it sends is settled."""

    reply: type[asyncio.Future[Any]] = Sent

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.store = store
        #: What was sent and what was executed, in order.
        self.log: list[str] = []

    def call(self, request: Call) -> asyncio.Future[Any]:  # type: ignore[override]
        self.log.append(f"send {request.operation.__name__}")
        reply = self.reply()
        self._after(THERE, lambda: self._execute(request, reply))
        return reply

    def _execute(self, request: Call, reply: asyncio.Future[Any]) -> None:
        self.log.append(f"execute {request.operation.__name__}")
        answer = self.store.apply(request)
        self._after(BACK, lambda: None if reply.done() else reply.set_result(answer))

    def _after(self, turns: int, action: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            loop.call_soon(self._after, turns - 1, action)
        else:
            action()


class HastyLink(TurnLink):
    """The same, without the rule: a cancelled call is not awaited any longer."""

    reply = asyncio.Future


def seek(owner: str) -> Acquisition:
    began = now()
    return Acquisition(STORE, "name", owner, 30.0, began, began + 30.0, now)


async def cancelled_after(turns: int, work: Any, twice: bool) -> Any:
    """What the work returned, or None if the cancellation came before."""
    task = asyncio.ensure_future(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    if twice:
        await asyncio.sleep(0)
        task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return None


def holders(store: MemoryStore) -> list[str]:
    return [held.owner for held in store.records.held("name")]


async def quiet() -> None:
    """Let everything that is still on its way arrive."""
    for _ in range(4 * (THERE + BACK)):
        await asyncio.sleep(0)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("turns", range(16))
def test_cancelled_acquire_holds_exactly_if_it_returned_a_grant(turns: int, twice: bool) -> None:
    async def main() -> tuple[Any, list[str], int]:
        link = TurnLink(MemoryStore(now))
        grant = await cancelled_after(turns, arun(acquire(seek("me:1")), link), twice)
        await quiet()
        return grant, holders(link.store), len(asyncio.all_tasks())

    grant, held, tasks = asyncio.run(main())

    assert isinstance(grant, Grant) or grant is None
    assert held == ([] if grant is None else ["me:1"])
    assert tasks == 1


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("turns", range(48))
def test_waiter_cancelled_around_its_hand_over_leaves_nothing(turns: int, twice: bool) -> None:
    async def main() -> tuple[Any, MemoryStore]:
        store = MemoryStore(now)
        mine, theirs = TurnLink(store), TurnLink(store)
        held = await arun(acquire(seek("you:1")), theirs)

        async def let_go() -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            await arun(release(STORE, held, now() + 5), theirs)

        freeing = asyncio.ensure_future(let_go())
        grant = await cancelled_after(turns, arun(acquire(seek("me:1")), mine), twice)
        await freeing
        await quiet()
        return grant, store

    grant, store = asyncio.run(main())

    assert holders(store) == ([] if grant is None else ["me:1"])
    assert not store.records.queues
    assert not store.records.listeners


def log_of_a_cancelled_acquire(link: type[TurnLink], turns: int) -> list[str]:
    async def main() -> list[str]:
        mine = link(MemoryStore(now))
        await cancelled_after(turns, arun(acquire(seek("me:1")), mine), twice=False)
        await quiet()
        return mine.log

    return asyncio.run(main())


SETTLED = ["send attempt", "execute attempt", "send withdraw", "execute withdraw"]


@pytest.mark.parametrize("turns", range(1, THERE + BACK + 1))
def test_cancelled_call_is_settled_before_the_withdrawal_is_sent(turns: int) -> None:
    assert log_of_a_cancelled_acquire(TurnLink, turns) == SETTLED


def test_without_settling_the_withdrawal_is_sent_before_the_call_is_executed() -> None:
    """The control: with futures that can be cancelled, the order is lost."""
    assert log_of_a_cancelled_acquire(HastyLink, 1)[:2] == ["send attempt", "send withdraw"]


def test_sent_call_cannot_be_cancelled_only_settled() -> None:
    async def main() -> tuple[bool, bool, int]:
        sent = Sent()

        async def wait() -> int:
            answer: int = await sent
            return answer

        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        pending = not task.done()
        sent.set_result(7)
        with pytest.raises(asyncio.CancelledError):
            await task
        return pending, sent.cancelled(), sent.result()

    assert asyncio.run(main()) == (True, False, 7)


def test_timeout_around_an_acquire_is_still_a_timeout() -> None:
    async def main() -> MemoryStore:
        store = MemoryStore(now)
        link = TurnLink(store)
        await arun(acquire(seek("you:1")), link)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await arun(acquire(seek("me:1")), link)
        return store

    store = asyncio.run(main())

    assert holders(store) == ["you:1"]
    assert not store.records.queues
