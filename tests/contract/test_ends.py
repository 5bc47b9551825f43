"""How a client ends, or goes on, when what it runs on ends: on every backend."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

import interlock
from interlock import aio
from interlock.errors import InterlockError, LockLost
from interlock.testing.contract import KINDS

from .conftest import STORES

pytestmark = pytest.mark.slow


@pytest.fixture(params=list(STORES))
def url(request: pytest.FixtureRequest, url_of: Callable[[str], str]) -> str:
    return url_of(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_closing_amid_acquires_and_releases_leaves_nothing_held(url: str, kind: str) -> None:
    make = KINDS[kind]
    with interlock.connect(url) as other:
        for _ in range(20):
            client = interlock.connect(url)
            started = threading.Event()

            def work(client: interlock.Client = client, begun: threading.Event = started) -> None:
                try:
                    while True:
                        hold = make(client, "name").acquire()
                        begun.set()
                        hold.release()
                except InterlockError:
                    return  # it was closed

            worker = threading.Thread(target=work)
            worker.start()
            started.wait(10)
            client.close()
            worker.join(10)

            assert not make(other, "name").locked()


def test_a_client_goes_on_after_a_loop_that_was_just_closed(url: str) -> None:
    client = aio.connect(url)
    first = asyncio.new_event_loop()
    kept = first.run_until_complete(client.lock("name", lease=1.0).acquire())
    for task in asyncio.all_tasks(first):
        task.cancel()
    first.run_until_complete(asyncio.sleep(0.05))
    first.close()

    async def again() -> bool:
        hold = await client.lock("name", lease=1.0, timeout=5).acquire()
        await asyncio.sleep(2.4)
        lost = hold.lost
        await hold.release()
        await client.close()
        return lost

    assert asyncio.run(again()) is False
    assert kept.lost


def test_cancelling_the_keeper_tells_whoever_holds(url: str) -> None:
    async def main() -> None:
        async with aio.connect(url) as client:
            hold = None
            with pytest.raises(LockLost, match="keeper"):
                async with client.lock("name") as hold:
                    await asyncio.sleep(0.05)
                    for task in asyncio.all_tasks() - {asyncio.current_task()}:
                        if task.get_name() == "interlock-keeper":
                            task.cancel()
                    await asyncio.sleep(5)
            assert hold is not None
            assert hold.lost

    began = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < 4


def test_a_keeper_cancelled_before_its_first_turn_tells_whoever_holds(url: str) -> None:
    async def main() -> bool:
        async with aio.connect(url) as client:
            told = asyncio.Event()
            hold = await client.lock("name", lease=1.0).acquire()
            hold.on_lost(lambda _: told.set())
            for task in asyncio.all_tasks():
                if task.get_name() == "interlock-keeper":
                    task.cancel()
            async with asyncio.timeout(5):
                await told.wait()
            return hold.lost

    assert asyncio.run(main()) is True
