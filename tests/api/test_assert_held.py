"""`assert_held`: inside of a protected function, without asking any store."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import interlock
import interlock.testing
from interlock import LockLost, NotHeld, UsageError, aio
from interlock.testing.contract import KINDS
from tests.support.worlds import WORLDS, World


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    world = WORLDS[request.param]()
    yield world
    world.close()


@pytest.fixture
def url() -> str:
    """An empty store."""
    return f"memory://{uuid.uuid4()}"


@pytest.fixture
def client(world: World, url: str) -> Any:
    return world.connect(url)


def within(world: World, lock: Any, act: Callable[[], object]) -> object:
    """What comes of an act in a block of a lock."""

    def threads() -> object:
        with lock:
            return act()

    async def tasks() -> object:
        async with lock:
            return act()

    return world.do(threads if world.name == "threads" else tasks)


@pytest.mark.parametrize("kind", KINDS)
def test_holder_passes_whatever_kind_it_holds(world: World, client: Any, kind: str) -> None:
    def check() -> None:
        interlock.assert_held("orders:42")
        client.assert_held("orders:42")
        interlock.assert_held("orders:42", client=client)

    within(world, KINDS[kind](client, "orders:42"), check)


def test_reader_passes(world: World, client: Any) -> None:
    within(world, client.rwlock("a").read(), lambda: client.assert_held("a"))


def test_member_of_several_passes(world: World, client: Any) -> None:
    within(world, client.multilock("a", "b"), lambda: interlock.assert_held("b"))


@pytest.mark.parametrize("how", ["never", "released", "another name"])
def test_caller_that_does_not_hold_it_is_named(world: World, client: Any, how: str) -> None:
    name = "b" if how == "another name" else "a"
    if how != "never":
        within(world, client.lock("a"), lambda: None)

    with pytest.raises(NotHeld) as refusal:
        if how == "another name":
            within(world, client.lock("a"), lambda: interlock.assert_held(name))
        else:
            world.do(lambda: interlock.assert_held(name))

    actor = "task 'Task-" if world.name == "tasks" else "thread 'Thread-"
    assert f"lock {name!r} is not held by {actor}" in str(refusal.value)
    assert f"with client.lock({name!r})" in str(refusal.value)
    assert refusal.value.name == name


def test_lost_lock_raises_its_loss(world: World, client: Any) -> None:
    hold = world.start(lambda: _until_lost(world, client))
    with pytest.raises(LockLost, match="its lease ran out"):
        hold.result(10)


def _until_lost(world: World, client: Any) -> Any:
    lock = client.lock("a", lease=0.05, renew=False)
    if world.name == "threads":
        lost = threading.Event()
        hold = lock.acquire()
        hold.on_lost(lambda _: lost.set())
        assert lost.wait(10)
        return interlock.assert_held("a")
    return _task_until_lost(lock)


async def _task_until_lost(lock: Any) -> None:
    lost = asyncio.Event()
    hold = await lock.acquire()
    hold.on_lost(lambda _: lost.set())
    await lost.wait()
    interlock.assert_held("a")


def test_majority_passes_while_enough_stand() -> None:
    clients = [interlock.connect(f"memory://{each}") for each in "abc"]
    hold = interlock.majority_of(*(each.lock("job") for each in clients)).acquire()
    assert hold is not None

    clients[0].revoke("job")
    clients[0].close()
    interlock.assert_held("job")
    clients[1].close()  # which ends its lease as well

    with pytest.raises(LockLost):
        interlock.assert_held("job")
    clients[2].close()


def test_one_of_several_clients_can_be_meant(world: World, client: Any) -> None:
    other = world.connect("memory://")

    def check() -> None:
        interlock.assert_held("a")
        with pytest.raises(NotHeld):
            interlock.assert_held("a", client=other)
        with pytest.raises(NotHeld):
            other.assert_held("a")

    within(world, client.lock("a"), check)


def test_thread_that_the_holder_starts_does_not_inherit() -> None:
    with (
        interlock.connect("memory://") as client,
        client.lock("a"),
        ThreadPoolExecutor(1, "worker") as pool,
    ):
        work = pool.submit(interlock.assert_held, "a")
        with pytest.raises(NotHeld, match=r"thread 'worker_0', though another thread or task"):
            work.result(10)


def test_task_that_the_holder_starts_does_not_inherit() -> None:
    async def check() -> None:
        interlock.assert_held("a")

    async def main() -> None:
        async with aio.connect("memory://") as client, client.lock("a"):
            with pytest.raises(NotHeld, match="task 'child', though another thread or task"):
                await asyncio.create_task(check(), name="child")
            await check()

    asyncio.run(main())


def test_thread_of_a_task_passes_with_what_the_thread_holds() -> None:
    """A client for threads that is used in a task holds for the thread."""

    async def main() -> None:
        with interlock.connect("memory://") as client, client.lock("a"):
            interlock.assert_held("a")

    asyncio.run(main())


def test_client_of_tasks_says_no_outside_of_any_loop() -> None:
    async def main() -> aio.Client:
        return aio.connect("memory://")

    client = asyncio.run(main())

    with pytest.raises(NotHeld, match="thread 'MainThread'"):
        client.assert_held("a")


def test_clients_may_come_and_go_meanwhile() -> None:
    done = threading.Event()

    def connect() -> None:
        while not done.is_set():
            interlock.connect("memory://").close()

    makers = [threading.Thread(target=connect) for _ in range(2)]
    for maker in makers:
        maker.start()
    with interlock.connect("memory://") as client, client.lock("a"):
        for _ in range(500):
            interlock.assert_held("a")
    done.set()
    for maker in makers:
        maker.join()


def test_wrong_names_are_refused() -> None:
    wrong: Any = 42
    with pytest.raises(TypeError, match="name must be a str"):
        interlock.assert_held(wrong)
    with pytest.raises(UsageError, match="must not be empty"):
        interlock.assert_held("")


# --- the switch for tests -----------------------------------------------------------------------


def test_pretending_lets_matching_names_pass(world: World) -> None:
    with interlock.testing.pretend_held("orders:*", "stock"):
        world.do(lambda: interlock.assert_held("orders:42"))
        world.do(lambda: interlock.assert_held("stock"))
        with pytest.raises(NotHeld):
            world.do(lambda: interlock.assert_held("stocks"))

    with pytest.raises(NotHeld):
        world.do(lambda: interlock.assert_held("orders:42"))


def test_pretending_may_be_nested_and_ends_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), interlock.testing.pretend_held():
        with interlock.testing.pretend_held("a"):
            interlock.assert_held("b")
        interlock.assert_held("a")
        raise ZeroDivisionError
    with pytest.raises(NotHeld):
        interlock.assert_held("a")


def test_pattern_is_a_text() -> None:
    wrong: Any = 42
    with (
        pytest.raises(TypeError, match="pattern must be a str"),
        interlock.testing.pretend_held(wrong),
    ):
        pass
    with pytest.raises(NotHeld):
        interlock.assert_held("42")
