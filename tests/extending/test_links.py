"""The links of a store that one function asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from interlock.drive import now
from interlock.errors import OutcomeUnknown, StoreUnavailable
from interlock.links import AsyncCallLink, CallBackend, CallLink
from interlock.steps import Call


class Answers(CallBackend):
    """Performs a call by calling its operation."""

    def perform(self, request: Call) -> Any:
        return request.operation(*request.args)


BACKEND = Answers("answers://")


def question(operation: Callable[..., Any], *args: Any) -> Call:
    return Call(operation, (), args, now() + 5)


def fail(error: Exception) -> None:
    raise error


def test_a_call_is_performed_where_it_is_made() -> None:
    assert BACKEND.link().call(question(threading.get_ident)) == threading.get_ident()


def test_calls_of_tasks_are_performed_beside_the_loop() -> None:
    async def main() -> None:
        link = BACKEND.alink()
        both = threading.Barrier(2)
        first, second = link.call(question(both.wait, 5)), link.call(question(both.wait, 5))
        assert {await first, await second} == {0, 1}
        assert await link.call(question(threading.get_ident)) != threading.get_ident()
        await link.close()

    asyncio.run(main())


@pytest.mark.parametrize("error", [OSError(5, "out of reach"), TimeoutError("out of reach")])
def test_an_error_of_the_system_leaves_the_outcome_unknown(error: OSError) -> None:
    with pytest.raises(OutcomeUnknown, match="answers:// did not answer: out of reach"):
        BACKEND.link().call(question(fail, error))


def test_a_store_that_is_unavailable_says_so_itself() -> None:
    with pytest.raises(StoreUnavailable, match="closed on Sundays"):
        BACKEND.link().call(question(fail, StoreUnavailable("closed on Sundays")))


def test_several_calls_are_answered_each_by_itself() -> None:
    several = question(int, "1"), question(fail, OSError(5, "lost")), question(int, "2")

    async def together() -> list[Any]:
        link = BACKEND.alink()
        answers = await link.together(several)
        await link.close()
        return answers

    for answers in (BACKEND.link().together(several), asyncio.run(together())):
        assert answers[::2] == [1, 2]
        assert isinstance(answers[1], OutcomeUnknown)


def test_a_cancelled_task_sees_its_calls_end() -> None:
    ended: list[int] = []

    def slow(number: int) -> None:
        threading.Event().wait(0.05)
        ended.append(number)

    async def main() -> None:
        link = BACKEND.alink()
        asking = asyncio.ensure_future(link.together((question(slow, 1), question(slow, 2))))
        waiting = asyncio.create_task(asyncio.wait((asking,)))
        task = asyncio.create_task(_awaiting(link.call(question(slow, 3))))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert 3 in ended
        await waiting
        await link.close()

    asyncio.run(main())
    assert sorted(ended) == [1, 2, 3]


async def _awaiting(call: Any) -> None:
    await call


def test_a_waiter_is_woken_by_its_topic() -> None:
    link = BACKEND.link()
    with link.listen((("name", "owner"),), now()) as wakes:
        BACKEND.wake(("name", "another"))
        assert link.park(wakes, now() + 0.01) is False
        Answers("answers://").wake(("name", "owner"))  # by another client of the same store
        assert link.park(wakes, now() + 5) is True
    BACKEND.wake(("name", "owner"))  # it has left


def test_a_task_is_woken_from_another_thread() -> None:
    async def main() -> bool:
        link = BACKEND.alink()
        with await link.listen((("name", "owner"),), now()) as wakes:
            waker = threading.Timer(0.05, BACKEND.wake, ((("name", "owner")),))
            waker.start()
            woken = await link.park(wakes, now() + 5)
        await link.close()
        return woken

    assert asyncio.run(main())


def test_closing_wakes_who_waits_and_refuses_calls() -> None:
    link = BACKEND.link()
    with link.listen(("topic",), now()) as wakes:
        threading.Timer(0.05, link.close).start()
        assert link.park(wakes, now() + 5) is True
    with pytest.raises(StoreUnavailable, match="closed"):
        link.call(question(int))


def test_closing_ends_the_threads_of_tasks() -> None:
    async def main() -> None:
        link = BACKEND.alink()
        await link.call(question(int))
        assert any("interlock-calls" in each.name for each in threading.enumerate())
        await link.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            await link.call(question(int))

    asyncio.run(main())
    for thread in threading.enumerate():
        if "interlock-calls" in thread.name:
            thread.join(5)
            assert not thread.is_alive()


def test_a_link_goes_on_in_the_next_loop() -> None:
    link = BACKEND.alink()

    async def ask() -> int:
        answer: int = await link.call(question(int, "7"))
        link.hang_up()
        return answer

    assert [asyncio.run(ask()) for _ in range(2)] == [7, 7]


@pytest.mark.parametrize("kind", [CallLink, AsyncCallLink])
def test_the_link_of_a_parent_refuses_the_calls_of_its_child(kind: Any) -> None:
    link = kind("answers://", BACKEND.perform)
    link.after_fork()

    with pytest.raises(StoreUnavailable, match="parent"):
        link.call(question(int))
