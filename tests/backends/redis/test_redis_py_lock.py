"""The mutex and redis-py's own Lock, on the same names at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import as_completed
from typing import Any

import pytest
from redis.exceptions import LockNotOwnedError

from interlock import AcquireTimeout

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import litter, raw

pytestmark = pytest.mark.server


def test_our_mutex_excludes_redis_py(world: World, redis_url: str, peek: Any) -> None:
    hold = world.do(world.connect(redis_url).mutex("m").acquire)
    theirs = peek.lock("m", timeout=20)
    assert not theirs.acquire(blocking=False)
    theirs.local.token = b"anything else"
    with pytest.raises(LockNotOwnedError):
        theirs.release()
    assert not hold.lost
    world.do(hold.release)
    assert theirs.acquire(blocking=False)
    theirs.release()


def test_redis_py_excludes_our_mutex(world: World, redis_url: str, peek: Any) -> None:
    mutex = world.connect(redis_url).mutex("m")
    with peek.lock("m", timeout=20):
        assert world.do(lambda: mutex.acquire(blocking=False)) is None
        with pytest.raises(AcquireTimeout):
            world.do(lambda: mutex.acquire(timeout=0.1))
    world.do(world.do(mutex.acquire).release)
    assert litter(peek) == {key for key in litter(peek) if key.startswith("interlock:tomb:")}


def test_redis_py_waits_for_our_mutex(world: World, redis_url: str, peek: Any) -> None:
    hold = world.do(world.connect(redis_url).mutex("m").acquire)
    theirs = peek.lock("m", timeout=20, sleep=0.01, thread_local=False)
    waiter = threading.Thread(target=theirs.acquire)
    waiter.start()
    world.do(hold.release)
    waiter.join(5)
    assert theirs.owned()
    theirs.release()


def test_our_mutex_waits_for_redis_py(world: World, redis_url: str, peek: Any) -> None:
    theirs = peek.lock("m", timeout=20)
    assert theirs.acquire()
    waiting = world.start(world.connect(redis_url).mutex("m").acquire)
    eventually(lambda: peek.zcard("interlock:queue:{m}") == 1)
    theirs.release()
    world.do(waiting.result(5).release)


def test_counter_is_right_under_contention_of_both(
    world: World, redis_url: str, peek: Any
) -> None:
    counter = Counter()
    theirs = [threading.Thread(target=count_with_redis_py, args=(peek, counter)) for _ in "ab"]
    for thread in theirs:
        thread.start()
    clients = [world.connect(redis_url) for _ in range(2)]
    for _ in range(ROUNDS):
        waiting = [world.start(client.mutex("m").acquire) for client in clients]
        for granted in as_completed(waiting, timeout=20):
            counter.step()
            world.do(granted.result().release)
    for thread in theirs:
        thread.join(20)
    assert counter.value == 4 * ROUNDS


ROUNDS = 15


class Counter:
    """A counter that is wrong unless it is guarded."""

    def __init__(self) -> None:
        self.value, self._inside = 0, False

    def step(self) -> None:
        assert not self._inside
        self._inside = True
        value = self.value
        threading.Event().wait(0.001)  # let the others in, if they can come in
        self.value = value + 1
        self._inside = False


def count_with_redis_py(peek: Any, counter: Counter) -> None:
    port = peek.connection_pool.connection_kwargs["port"]
    with raw(port) as client:
        for _ in range(ROUNDS):
            with client.lock("m", timeout=20, sleep=0.005):
                counter.step()
