"""The asyncio link: the loop never blocks, and every call is settled."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock import aio
from interlock.backends.sqlite.aio import SqliteAsyncLink
from interlock.backends.sqlite.transport import runner
from interlock.backends.sqlite.transport.retry import LIMIT
from interlock.backends.sqlite.transport.shared_file import SharedFile
from interlock.drive import now
from interlock.errors import StoreError, StoreUnavailable, UsageError
from interlock.ledger import attempt
from interlock.steps import Call, Reply

from .raw import ask, occupied, until


def taking(name: str, owner: str = "me:1", seconds: float = 5.0) -> Call:
    """A question for a lock."""
    return Call(attempt, (name,), ("lock", owner, 30.0, False), now() + seconds)


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "interlock-sqlite"]


def test_the_loop_goes_on_while_the_file_is_busy(url: str, path: Path, hasty: None) -> None:
    async def scenario() -> int:
        async with aio.connect(url) as client:
            async with client.lock("k"):
                pass
            with occupied(path):
                waiting = asyncio.create_task(client.lock("k", timeout=0).acquire())
                turns = 0
                while not waiting.done():
                    await asyncio.sleep(0.005)
                    turns += 1
                with pytest.raises(StoreUnavailable, match="busy"):
                    await waiting
            return turns

    assert asyncio.run(scenario()) > 10


def test_a_cancelled_task_sees_its_call_settled_first(path: Path) -> None:
    async def scenario() -> None:
        link = SqliteAsyncLink(str(path))
        await link.call(taking("first"))
        with occupied(path) as other:
            sent: Any = link.call(taking("k"))
            task = asyncio.ensure_future(_await(sent))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0.05)
            assert not task.done()
            other.execute("ROLLBACK")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sent.done()
        await link.close()

    asyncio.run(scenario())
    assert ask(path, "SELECT owner FROM records WHERE name = 'k'") == [("me:1",)]


async def _await(sent: Any) -> Reply:
    return await sent


def test_each_call_keeps_its_own_time_while_the_file_is_busy(path: Path) -> None:
    async def scenario() -> list[float]:
        link = SqliteAsyncLink(str(path))
        await link.call(taking("first"))
        with occupied(path):
            began = now()
            calls = [link.call(taking("k", seconds=seconds)) for seconds in (LIMIT, 0.1, 0.3)]
            delays = []
            for call in calls[1:]:
                with pytest.raises(StoreUnavailable, match="busy"):
                    await call
                delays.append(now() - began)
        await calls[0]
        await link.close()
        return delays

    short, long = asyncio.run(scenario())

    assert 0.1 <= short < 0.3 <= long < LIMIT / 2


def test_calls_that_come_together_share_a_transaction(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = SharedFile.try_apply

    def try_apply(file: SharedFile, calls: Sequence[Call]) -> list[Reply] | None:
        sizes.append(len(calls))
        return real(file, calls)

    async def scenario() -> list[Reply]:
        link = SqliteAsyncLink(str(path))
        await link.call(taking("first"))
        monkeypatch.setattr(SharedFile, "try_apply", try_apply)
        with occupied(path) as other:
            calls = [link.call(taking(f"k{n}", f"me:{n}")) for n in range(100)]
            await asyncio.sleep(0.05)
            other.execute("ROLLBACK")
        replies = [await call for call in calls]
        await link.close()
        return replies

    replies = asyncio.run(scenario())

    assert [reply[0] for reply in replies] == [1] * 100
    assert len({reply[1] for reply in replies}) == 100
    assert max(sizes) == runner.BATCH


def test_calls_are_executed_in_the_order_in_which_they_were_made(path: Path) -> None:
    async def scenario() -> list[int]:
        link = SqliteAsyncLink(str(path))
        with_tokens = [link.call(taking("k" * (n % 3 + 1), "me:1")) for n in range(200)]
        tokens = [(await call)[1] for call in with_tokens]
        await link.close()
        return tokens

    tokens = asyncio.run(scenario())

    assert tokens == sorted(tokens)
    assert SqliteAsyncLink.ordered


def test_a_call_that_cannot_succeed_does_not_stop_its_neighbours(path: Path) -> None:
    def impossible(records: Any, name: str) -> None:
        records.put(name, "lock", "nobody:1", 1, 30.0)
        raise StoreError("impossible")

    async def scenario() -> list[Reply]:
        link = SqliteAsyncLink(str(path))
        await link.call(taking("first"))
        with occupied(path) as other:
            calls = [
                link.call(taking("before")),
                link.call(Call(impossible, ("spoilt",), (), now() + 5)),
                link.call(taking("after")),
            ]
            await asyncio.sleep(0.05)
            other.execute("ROLLBACK")
        replies = await asyncio.gather(*calls, return_exceptions=True)
        await link.close()
        return list(replies)

    before, spoilt, after = asyncio.run(scenario())

    assert (before[0], after[0]) == (1, 1)
    assert str(spoilt) == "impossible"
    names = [name for (name,) in ask(path, "SELECT name FROM records WHERE name != ''")]
    assert sorted(names) == ["after", "before", "first"]


def test_a_client_serves_one_loop_after_another(url: str) -> None:
    client = aio.connect(url)

    async def use() -> int:
        async with client.lock("k", timeout=5) as hold:
            return hold.token

    tokens = [asyncio.run(use()) for _ in range(3)]

    assert tokens == sorted(set(tokens))
    asyncio.run(client.close())


def test_a_client_does_not_serve_two_loops_at_once(url: str) -> None:
    client = aio.connect(url)

    async def use() -> None:
        async with client.lock("k"):
            with pytest.raises(UsageError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, _locked(client))

    asyncio.run(use())
    asyncio.run(client.close())


async def _locked(client: aio.Client) -> bool:
    return await client.lock("k").locked()


def test_closing_finishes_what_is_under_way_and_ends_the_thread(path: Path) -> None:
    async def scenario() -> None:
        link = SqliteAsyncLink(str(path))
        calls = [link.call(taking(f"k{n}")) for n in range(100)]

        await link.close()

        assert all(call.done() for call in calls)  # type: ignore[attr-defined]
        with pytest.raises(StoreUnavailable, match="closed"):
            await link.call(taking("late"))

    asyncio.run(scenario())
    until(lambda: threads() == [])
    assert ask(path, "SELECT count(*) FROM records") == [(101,)]


def test_a_thread_without_work_ends_and_the_next_call_starts_another(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "IDLE", 0.05)

    async def scenario() -> None:
        link = SqliteAsyncLink(str(path))
        await link.call(taking("first"))
        await asyncio.to_thread(until, lambda: threads() == [])

        assert (await link.call(taking("second")))[0] == 1
        await link.close()

    asyncio.run(scenario())


def test_a_loop_that_ends_in_the_middle_of_a_call_leaves_no_thread_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "IDLE", 0.05)
    link = SqliteAsyncLink(str(path))

    async def scenario() -> None:
        link.call(taking("k"))

    asyncio.run(scenario())
    until(lambda: threads() == [])
    gc.collect()

    assert asyncio.run(_close(link)) is None


async def _close(link: SqliteAsyncLink) -> None:
    await link.close()


def test_a_thousand_tasks_take_a_thousand_locks_in_a_moment(url: str) -> None:
    async def scenario() -> float:
        async with aio.connect(url) as client, asyncio.TaskGroup() as tasks:
            began = time.monotonic()
            for number in range(1000):
                tasks.create_task(_pair(client, f"k{number}"))
        return time.monotonic() - began

    assert asyncio.run(scenario()) < 10


async def _pair(client: aio.Client, name: str) -> None:
    async with client.lock(name):
        pass
