"""A hold that is out of reach is released, a client that was dropped is collected: on every
backend, in both worlds."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock import LockInfo, aio
from interlock.drive import now
from interlock.events import Event, Forgotten, Renewed
from interlock.steps import call
from interlock.testing.contract import KINDS

from .conftest import STORES

pytestmark = pytest.mark.slow

#: Seconds for what must happen by itself.
SOON = 10.0


@pytest.fixture(params=list(STORES))
def url(request: pytest.FixtureRequest, url_of: Callable[[str], str]) -> str:
    return url_of(request.param)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What an earlier test has left is none of our business."""
    gc.collect()
    yield
    gc.collect()


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


async def aeventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON
    while not condition() and time.monotonic() < deadline:  # noqa: ASYNC110 - a thread sets it
        await asyncio.sleep(0.005)
    return condition()


def in_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("kind", KINDS)
def test_a_thread_that_ends_releases_what_it_has_not(url: str, kind: str) -> None:
    with interlock.connect(url) as client, interlock.connect(url) as other:
        with pytest.warns(ResourceWarning, match="'name'.* was never released"):
            in_thread(lambda: KINDS[kind](client, "name").acquire() and None)
            gc.collect()

        with KINDS[kind](other, "name", timeout=SOON):
            pass
        assert client._session.schedule.holds() == []


def test_who_stands_behind_a_thread_that_ended_gets_what_it_had(url: str) -> None:
    with interlock.connect(url) as client, pytest.warns(ResourceWarning):
        in_thread(lambda: client.lock("name").acquire() and None)

        with client.lock("name", timeout=SOON):
            pass


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_that_ends_releases_what_it_has_not(url: str, kind: str) -> None:
    async def main() -> None:
        async with aio.connect(url) as client, aio.connect(url) as other:
            with pytest.warns(ResourceWarning, match="'name'.* was never released"):
                await asyncio.create_task(_dropped(KINDS[kind](client, "name")))
                await asyncio.sleep(0)
                gc.collect()

            async with KINDS[kind](other, "name", timeout=SOON):
                pass

    asyncio.run(main())


async def _dropped(lock: Any) -> None:
    await lock.acquire()


def _forget(lock: interlock.Lock) -> None:
    lock.acquire()


@pytest.mark.parametrize("several", [interlock.all_of, interlock.majority_of])
@pytest.mark.parametrize("kept", [True, False])
def test_several_locks_of_a_thread_that_ended_need_no_collector(
    url: str, several: Callable[..., Any], kept: bool
) -> None:
    with interlock.connect(url) as client, interlock.connect(url) as other, gc_disabled():
        locks = several(client.lock("a"), client.lock("b")) if kept else None
        with pytest.warns(ResourceWarning, match="was never released"):
            in_thread(lambda: _drop(locks or several(client.lock("a"), client.lock("b"))))

        for name in ("a", "b"):
            with other.lock(name, timeout=SOON):
                pass


def _drop(locks: Any) -> None:
    locks.acquire()


@pytest.mark.parametrize("several", [aio.all_of, aio.majority_of])
def test_several_locks_of_a_task_that_ended_need_no_collector(
    url: str, several: Callable[..., Any]
) -> None:
    async def main() -> None:
        async with aio.connect(url) as client, aio.connect(url) as other:
            locks = several(client.lock("a"), client.lock("b"))
            with pytest.warns(ResourceWarning, match="was never released"):
                await asyncio.create_task(_dropped(locks))
                await asyncio.sleep(0)

            for name in ("a", "b"):
                async with other.lock(name, timeout=SOON):
                    pass

    with gc_disabled():
        asyncio.run(main())


def test_several_locks_that_only_their_living_thread_has_tell_of_their_loss(url: str) -> None:
    lost: list[Any] = []
    with interlock.connect(url) as client:
        client.multilock("a", "b", lease=9).acquire().on_lost(lost.append)
        gc.collect()
        client.revoke("b")

        assert eventually(lambda: len(lost) == 1)
        assert [hold.name for hold in lost[0].holds] == ["a", "b"]
        client.lock("a").release()


def test_threads_that_forgot_leave_no_ghosts(url: str, caplog: pytest.LogCaptureFixture) -> None:
    told: list[Event] = []
    with interlock.connect(url, observer=told.append) as client:
        with client.lock("used"):
            pass
        before = threading.active_count()
        with pytest.warns(ResourceWarning):
            for number in range(8):
                in_thread(partial(_forget, client.lock(f"name {number}")))

        assert eventually(lambda: sum(isinstance(event, Forgotten) for event in told) == 8)
        assert eventually(lambda: threading.active_count() <= before), threading.enumerate()
    assert caplog.text.count("was never released") == 8


def test_an_open_block_keeps_its_lock_though_its_thread_has_ended(url: str) -> None:
    def inside(client: interlock.Client) -> Iterator[int]:
        with client.lock("name") as hold:
            yield hold.token
        with client.lock("name"):
            yield 0

    with interlock.connect(url) as client, interlock.connect(url) as other:
        steps = inside(client)
        in_thread(lambda: next(steps))
        gc.collect()

        assert other.lock("name").acquire(blocking=False) is None
        assert next(steps) == 0  # it leaves the one block, and enters the next
        steps.close()  # type: ignore[attr-defined]
        with other.lock("name", timeout=SOON):
            pass


def test_an_open_block_without_a_name_keeps_its_lock(url: str) -> None:
    async def inside(client: aio.Client) -> AsyncIterator[None]:
        async with client.lock("name"), client.multilock("a", "b"):
            yield

    async def main() -> None:
        async with aio.connect(url) as client, aio.connect(url) as other:
            steps = inside(client)
            await asyncio.create_task(anext(steps))  # type: ignore[arg-type]
            await asyncio.sleep(0)
            gc.collect()

            for name in ("name", "a", "b"):
                assert await other.lock(name).acquire(blocking=False) is None
            assert [step async for step in steps] == []
            for name in ("name", "a", "b"):
                async with other.lock(name, timeout=SOON):
                    pass

    asyncio.run(main())


FORGETFUL = """
import threading, interlock
client = interlock.connect("memory://")
def forget():
    client.lock("name").acquire()
thread = threading.Thread(target=forget)
thread.start()
thread.join()
"""


def test_in_development_mode_the_line_is_told(tmp_path: Path) -> None:
    program = tmp_path / "forgetful.py"
    program.write_text(FORGETFUL)

    told = subprocess.run(
        [sys.executable, "-X", "dev", str(program)], capture_output=True, text=True, timeout=30
    )

    assert told.stderr.count("was never released") == 1
    assert f"it was taken at {program}:5" in told.stderr


def test_a_hold_that_another_thread_has_stays(url: str) -> None:
    holds: list[interlock.Hold] = []
    with interlock.connect(url) as client, warnings.catch_warnings(), gc_disabled():
        warnings.simplefilter("error", ResourceWarning)
        in_thread(lambda: holds.append(client.lock("name", lease=9).acquire()))
        gc.collect()
        until = holds[0]._lease.until

        assert eventually(lambda: holds[0]._lease.until > until)  # it is renewed
        holds.pop().release()


def gc_disabled() -> Any:
    """Nothing is collected by chance: only where a test says so."""

    class Disabled:
        def __enter__(self) -> None:
            gc.disable()

        def __exit__(self, *exit: object) -> None:
            gc.enable()

    return Disabled()


def test_a_hold_that_only_its_living_thread_has_stays(url: str) -> None:
    told: list[Event] = []
    with interlock.connect(url, observer=told.append) as client:
        lock = client.lock("name", lease=9)
        lock.acquire()
        gc.collect()

        assert eventually(lambda: any(isinstance(event, Renewed) for event in told))
        gc.collect()
        lock.release()


def test_a_client_that_was_dropped_goes_with_all_it_has(url: str) -> None:
    with interlock.connect(url) as other:
        with other.lock("used"):
            # From then on its keeper opens no further connection.
            assert eventually(lambda: _introduced(other.inspect("used")))
        threads, descriptors = threading.active_count(), _descriptors()
        with pytest.warns(ResourceWarning, match="name .* was never released"):
            gone = [_used_and_dropped(url, number) for number in range(5)]
            gc.collect()

        assert eventually(lambda: not any(find() for find in gone)), "clients are left"
        assert eventually(lambda: threading.active_count() <= threads), threading.enumerate()
        assert eventually(lambda: _descriptors() <= descriptors), "descriptors are left"
        for number in range(5):
            with other.lock(f"name {number}", timeout=SOON):
                pass


def test_a_client_that_is_dropped_in_the_middle_of_a_call_gives_back_what_it_holds(
    tmp_path: Path,
) -> None:
    for url in ("memory://dropped-amid", f"sqlite://{tmp_path}/locks.db"):
        with (
            interlock.connect(url) as other,
            pytest.warns(ResourceWarning, match="never released"),
        ):
            dropped = [interlock.connect(url)]
            dropped[0].lock("name").acquire()

            def drop(records: object, some: list[interlock.Client]) -> None:
                some.clear()
                gc.collect()

            other._session.run(call(drop, (), (dropped,), now() + 5))

            with other.lock("name", timeout=SOON):
                pass


def _introduced(info: LockInfo | None) -> bool:
    return info is not None and info.holders[0].host != ""


async def _aintroduced(client: aio.Client) -> bool:
    for _ in range(1000):
        if _introduced(await client.inspect("used")):
            return True
        await asyncio.sleep(0.01)
    return False


def _used_and_dropped(url: str, number: int) -> weakref.ref[interlock.Client]:
    client = interlock.connect(url)
    with client.lock("used"):
        pass
    client.lock(f"name {number}").acquire()
    return weakref.ref(client)


def test_a_client_of_tasks_that_was_dropped_goes_with_all_it_has(url: str) -> None:
    async def main() -> None:
        async with aio.connect(url) as other:
            async with other.lock("used"):
                # From then on its keeper opens no further connection.
                assert await _aintroduced(other)
            before = threading.active_count(), _descriptors(), len(asyncio.all_tasks())
            with pytest.warns(ResourceWarning, match="name .* was never released"):
                gone = [await asyncio.create_task(_aused(url, number)) for number in range(5)]
                await asyncio.sleep(0)
                gc.collect()

            def left() -> tuple[int, int, int]:
                return threading.active_count(), _descriptors(), len(asyncio.all_tasks())

            assert await aeventually(lambda: not any(find() for find in gone))
            assert await aeventually(
                lambda: all(now <= then for now, then in zip(left(), before, strict=True))
            ), (left(), before)
            for number in range(5):
                async with other.lock(f"name {number}", timeout=SOON):
                    pass

    asyncio.run(main())


async def _aused(url: str, number: int) -> weakref.ref[aio.Client]:
    client = aio.connect(url)
    async with client.lock("used"):
        pass
    await client.lock(f"name {number}").acquire()
    return weakref.ref(client)


def _descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0
