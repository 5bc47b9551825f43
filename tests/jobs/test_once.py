"""What is done once, on every store and in both worlds."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from interlock import LockLost, NotHeld, Run, Unsupported, UsageError
from tests.support.worlds import Tasks, World


def decorated(world: World, once: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is done once; it is called with the argument `key`."""

    async def awaited(key: str = "") -> Any:
        return body(key)

    def plain(key: str = "") -> Any:
        return body(key)

    made: Callable[..., Any] = once(awaited if isinstance(world, Tasks) else plain)
    return made


def test_it_is_done_once_by_all_clients(world: World, url: str) -> None:
    done: list[str] = []
    clients = [world.connect(url) for _ in range(3)]
    functions = [
        decorated(world, each.once("migrate"), lambda key: done.append("!") or 42)  # type: ignore[func-returns-value]
        for each in clients
    ]

    started = [world.start(each) for each in functions]
    results = [each.result(20) for each in started]

    assert done == ["!"]
    assert sorted(results, key=str) == [42, None, None]
    assert world.do(functions[0]) is None


def test_it_can_be_read_who_did_it_and_how_it_ended(world: World, url: str) -> None:
    client, other = world.connect(url), world.connect(url)
    assert world.do(other.once("migrate").record) is None

    world.do(decorated(world, client.once("migrate"), lambda key: None))
    run: Run = world.do(other.once("migrate").record)

    assert (run.name, run.state) == ("migrate", "done")
    assert str(run.by)
    assert run.token > 0
    assert abs(run.began - time.time()) < 60
    assert run.took is not None


def test_a_second_caller_waits_for_the_end_of_the_first(world: World, url: str) -> None:
    began, go = threading.Event(), threading.Event()
    ended: list[str] = []

    def body(key: str) -> None:
        began.set()
        go.wait(20)
        ended.append(key)

    client = world.connect(url)
    first, second = (Threaded(world, url, "migrate", body) for _ in range(2))
    first.start()
    assert began.wait(20)
    second.start()
    assert not second.done()
    assert world.do(client.once("migrate").record).state == "running"
    go.set()

    assert first.result() == "did it"
    assert second.result() is None
    assert len(ended) == 1


class Threaded:
    """A call that may be started, of a function that blocks its thread, or one beside its loop."""

    def __init__(self, world: World, url: str, key: str, body: Callable[[str], Any]) -> None:
        def plain() -> str:
            body(key)
            return "did it"

        async def awaited() -> str:
            return await asyncio.to_thread(plain)

        self._world, self._outcome = world, Future[Any]()
        once = world.connect(url).once(key)
        self._function = once(awaited if isinstance(world, Tasks) else plain)

    def start(self) -> None:
        self._outcome = self._world.start(self._function)

    def done(self) -> bool:
        return self._outcome.done()

    def result(self) -> Any:
        return self._outcome.result(20)


# --- what need not be tried on every store -------------------------------------------------------


@pytest.fixture
def client(world: World, tmp_path: Any) -> Any:
    return world.connect(f"memory://{tmp_path}")


def test_what_failed_is_done_again_unless_it_is_told_not_to(world: World, client: Any) -> None:
    tries: list[str] = []

    def fails(key: str) -> None:
        tries.append(key)
        raise ValueError("no disk")

    once = client.once("{key}")
    final = client.once("{key}", retry_failed=False)
    for _ in range(2):
        with pytest.raises(ValueError, match="no disk"):
            world.do(lambda: decorated(world, once, fails)(key="a"))
    assert world.do(lambda: decorated(world, final, fails)(key="a")) is None

    assert tries == ["a", "a"]
    run = world.do(client.once("a").record)
    assert (run.state, run.error) == ("failed", "ValueError: no disk")


def test_it_is_forgotten_after_its_time(world: World, client: Any) -> None:
    done: list[str] = []
    function = decorated(world, client.once("{key}", remember="200ms"), done.append)
    world.do(lambda: function(key="a"))
    world.do(lambda: function(key="a"))
    time.sleep(0.25)

    world.do(lambda: function(key="a"))

    assert done == ["a", "a"]


def test_each_key_is_done_once(world: World, client: Any) -> None:
    done: list[str] = []
    function = decorated(world, client.once("paid:{key}"), done.append)

    for key in ("a", "b", "a", "b"):
        world.do(partial(function, key=key))

    assert done == ["a", "b"]


def test_a_block_has_a_hold_if_it_has_to_be_done(world: World, client: Any) -> None:
    seen: list[Any] = []

    def block() -> None:
        with client.once("k") as hold:
            seen.append(hold and hold.token)

    async def block_async() -> None:
        async with client.once("k") as hold:
            seen.append(hold and hold.token)

    for _ in range(2):
        world.do(block_async if isinstance(world, Tasks) else block)

    assert seen[0] > 0
    assert seen[1] is None
    assert world.do(lambda: client.inspect("once:k")) is None


def test_a_caller_that_does_not_wait_is_told_at_once(world: World, client: Any) -> None:
    done: list[str] = []
    holder = world.do(client.lock("once:k").acquire)

    function = decorated(world, client.once("k", timeout=0), done.append)

    assert world.do(function) is None
    assert done == []
    del holder


def test_what_was_begun_by_a_process_that_died_is_done_again(
    world: World, client: Any, tmp_path: Any
) -> None:
    done: list[str] = []
    dead = world.connect(f"memory://{tmp_path}")
    begun = world.do(lambda: dead._session.run(dead.once("k")._enter("k")))
    world.do(lambda: client.revoke("once:k", "as if its lease had ended"))
    assert world.do(client.once("k").record).state == "died"
    assert world.do(decorated(world, client.once("k", retry_dead=False), done.append)) is None
    assert done == []

    world.do(decorated(world, client.once("k"), done.append))

    assert done == [""]
    del begun


def test_a_loss_is_told_and_written_down(world: World, client: Any) -> None:
    async def lost_async() -> None:
        async with client.once("k"):
            await client.revoke("once:k", "stuck")
            client._session.on_connection(False)  # the keeper asks now
            await asyncio.sleep(40)

    def lost() -> None:
        with client.once("k") as hold:
            client.revoke("once:k", "stuck")
            hold._lease.lose("revoked")
            assert hold.lost

    with pytest.raises(LockLost):
        world.start(lost_async if isinstance(world, Tasks) else lost).result(30)

    assert world.do(client.once("k").record).state == "lost"


def test_a_block_inside_of_a_block_of_the_same_object_leaves_only_itself(
    world: World, client: Any
) -> None:
    once, states = client.once("k"), []

    def nested() -> None:
        with once:
            with once as again:
                assert again is None
            states.append(client.once("k").record().state)

    async def nested_async() -> None:
        async with once:
            async with once as again:
                assert again is None
            states.append((await client.once("k").record()).state)

    world.do(nested_async if isinstance(world, Tasks) else nested)

    assert states == ["running"]
    assert world.do(client.once("k").record).state == "done"


def test_a_block_is_left_where_it_was_entered(world: World, client: Any) -> None:
    once = client.once("k")

    with pytest.raises(NotHeld):
        world.do(
            lambda: (
                once.__aexit__(None, None, None)
                if isinstance(world, Tasks)
                else once.__exit__(None, None, None)
            )
        )


def test_it_may_not_be_done_inside_of_itself(world: World, client: Any) -> None:
    inner: list[Any] = []

    def outside() -> None:
        with client.once("k"), client.once("k") as again:
            inner.append(again)

    async def outside_async() -> None:
        async with client.once("k"), client.once("k") as again:
            inner.append(again)

    world.do(outside_async if isinstance(world, Tasks) else outside)

    assert inner == [None]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"remember": 0}, "remember must be positive, or None for ever"),
        ({"remember": "ages"}, 'remember must look like "10s"'),
        ({"timeout": -5}, "timeout must be None, -1 or at least 0"),
    ],
)
def test_wrong_terms_are_told_by_their_name(
    client: Any, terms: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        client.once("k", **terms)


def test_a_wrong_key_is_told_when_decorating(client: Any, world: World) -> None:
    with pytest.raises(UsageError, match="must not be empty"):
        client.once("")
    with pytest.raises(UsageError, match="needs an argument 'order'"):
        decorated(world, client.once("paid:{order}"), lambda key: None)


def test_redlock_says_what_can(world: World) -> None:
    client = world.connect("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")

    with pytest.raises(Unsupported, match=r"has no cron\(\), every\(\) or once\(\)"):
        client.once("k")
