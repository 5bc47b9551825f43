"""What every primitive costs the server: which commands, and how many, as the docstrings say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlock.backends.redis.scripts import script
from interlock.recipes import lock as recipe
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .metering import REENTRANT, SEMAPHORES, SORTS, Meter, Sort, introduced, script_names
from .watching import Monitor

pytestmark = pytest.mark.server

every_sort = pytest.mark.parametrize("sort", SORTS.values(), ids=SORTS)
both_semaphores = pytest.mark.parametrize(
    "sort", [SORTS[each] for each in SEMAPHORES], ids=SEMAPHORES
)
reentrant = pytest.mark.parametrize("sort", [SORTS[each] for each in REENTRANT], ids=REENTRANT)


@pytest.fixture
def meter(redis_server: RedisServer, peek: Any) -> Iterator[Meter]:
    """The server knows every script from here on, as it does a moment after any start."""
    for name in script_names():
        peek.script_load(script(name).text)
    with Monitor(redis_server.port) as monitor:
        yield Meter(monitor, peek)


@pytest.fixture
def client(world: World, redis_url: str, peek: Any, meter: Meter) -> Any:
    """A client that has introduced itself."""
    return introduced(world, redis_url, peek, meter)


def in_turn(world: World, *actions: Callable[[], Any]) -> None:
    """Do several things one after another, all in one thread or task."""

    async def each() -> list[Any]:
        outcomes = []
        for action in actions:
            outcome = action()
            outcomes.append(await outcome if inspect.isawaitable(outcome) else outcome)
        return outcomes

    world.do(each if world.name == "tasks" else lambda: [action() for action in actions])


# --- taking, trying, re-entering ----------------------------------------------------------------


@every_sort
def test_taking_what_is_free_is_one_command_and_releasing_it_another(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    face = sort.make(client, "k")
    world.do(world.do(face.acquire).release)  # permits are set when they are first used
    meter.spent()
    hold = world.do(face.acquire)
    assert meter.spent() == [sort.attempt]
    world.do(hold.release)
    assert meter.spent() == [sort.release]


@both_semaphores
def test_first_use_of_a_semaphore_sets_its_permits_and_costs_two_commands_more(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    world.do(sort.make(client, "k").acquire)
    assert meter.spent() == ["permits_attempt", "permits_set", "permits_attempt"]


@every_sort
def test_trying_what_is_busy_is_one_command(
    world: World, client: Any, meter: Meter, redis_url: str, peek: Any, sort: Sort
) -> None:
    other = introduced(world, redis_url, peek, meter)
    world.do(SORTS[sort.rival].make(other, "k").acquire)
    meter.spent()
    assert world.do(lambda: sort.make(client, "k").acquire(blocking=False)) is None
    assert meter.spent() == [sort.attempt]


@reentrant
def test_reentering_costs_nothing(world: World, client: Any, meter: Meter, sort: Sort) -> None:
    face = sort.make(client, "k")
    in_turn(world, face.acquire, face.acquire, face.release, face.release)
    assert meter.spent() == [sort.attempt, sort.release]


@both_semaphores
def test_each_acquire_of_a_semaphore_costs_a_command_also_in_the_same_thread(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    semaphore = sort.make(client, "k")
    world.do(lambda: semaphore.set_permits(2))
    meter.spent()
    in_turn(world, semaphore.acquire, semaphore.acquire)
    assert meter.spent() == ["permits_attempt"] * 2


# --- reading and writing ------------------------------------------------------------------------


def test_reading_inside_writing_costs_nothing(world: World, client: Any, meter: Meter) -> None:
    reading, writing = SORTS["read"].make(client, "k"), SORTS["write"].make(client, "k")
    in_turn(world, writing.acquire, reading.acquire, reading.release, writing.release)
    assert meter.spent() == ["rwlock_attempt", "rwlock_release"]


def test_releasing_the_write_before_its_read_costs_a_downgrade(
    world: World, client: Any, meter: Meter
) -> None:
    reading, writing = SORTS["read"].make(client, "k"), SORTS["write"].make(client, "k")
    in_turn(world, writing.acquire, reading.acquire, writing.release, reading.release)
    assert meter.spent() == ["rwlock_attempt", "rwlock_downgrade", "rwlock_release"]


def test_downgrade_is_one_command_and_none_for_who_reads_already(
    world: World, client: Any, meter: Meter
) -> None:
    hold = world.do(SORTS["write"].make(client, "k").acquire)
    meter.spent()
    world.do(hold.downgrade)
    assert meter.spent() == ["rwlock_downgrade"]
    world.do(hold.downgrade)
    assert meter.spent() == []


def test_second_reader_costs_one_command(
    world: World, client: Any, meter: Meter, redis_url: str, peek: Any
) -> None:
    other = introduced(world, redis_url, peek, meter)
    world.do(SORTS["read"].make(other, "k").acquire)
    meter.spent()
    world.do(world.do(SORTS["read"].make(client, "k").acquire).release)
    assert meter.spent() == ["rwlock_attempt", "rwlock_leave"]


# --- waiting ------------------------------------------------------------------------------------


@every_sort
def test_handover_costs_the_waiter_two_commands_to_enqueue_and_one_to_claim(
    world: World,
    client: Any,
    meter: Meter,
    redis_url: str,
    peek: Any,
    sort: Sort,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recipe, "POLL_CAP", 60.0)  # only a wake makes anybody ask again here
    rival = SORTS[sort.rival]
    hold = world.do(rival.make(introduced(world, redis_url, peek, meter), "k").acquire)
    meter.spent()
    waiting = world.start(sort.make(client, "k").acquire)
    eventually(lambda: peek.exists("interlock:queue:{k}", "redisson_lock_queue:{k}"))
    assert meter.spent() == [sort.attempt, "SUBSCRIBE", sort.attempt]
    world.do(hold.release)
    world.do(waiting.result(5).release)
    assert meter.spent() == [rival.release, sort.attempt, sort.release]


# --- counting -----------------------------------------------------------------------------------


def test_setting_counting_and_looking_at_a_latch_is_one_command_each(
    world: World, client: Any, meter: Meter
) -> None:
    latch = client.latch("k")
    for action, cost in (
        (lambda: latch.start(1), "latch_set"),
        (lambda: latch.count(), "latch_look"),
        (lambda: latch.wait(timeout=0), "latch_pass"),
        (latch.count_down, "latch_count"),
        (latch.wait, "latch_pass"),
    ):
        world.do(action)
        assert meter.spent() == [cost]


def test_waiting_for_a_latch_is_two_commands_and_one_to_pass(
    world: World, client: Any, meter: Meter, peek: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "POLL_CAP", 60.0)  # only a wake makes anybody ask again here
    latch, channel = client.latch("k"), "redisson_countdownlatch__channel__{k}"
    world.do(lambda: latch.start(1))
    meter.spent()
    waiting = world.start(latch.wait)
    eventually(lambda: meter.seen() == ["latch_pass", "SUBSCRIBE", "latch_pass"])
    meter.spent()
    world.do(latch.count_down)
    assert waiting.result(5)
    eventually(lambda: peek.pubsub_numsub(channel) == [(channel, 0)])
    assert meter.spent() == ["latch_count", "latch_pass", "UNSUBSCRIBE"]


@both_semaphores
def test_setting_permits_is_a_command_and_handing_over_what_was_added_another(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    semaphore = sort.make(client, "k")
    world.do(lambda: semaphore.set_permits(4))
    assert meter.spent() == ["permits_set", "permits_release"]


@both_semaphores
def test_available_is_one_command_and_another_when_somebody_holds(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    semaphore = sort.make(client, "k")
    assert world.do(semaphore.available) == 1
    assert meter.spent() == ["permits_look"]
    world.do(semaphore.acquire)
    meter.spent()
    assert world.do(semaphore.available) == 0
    assert meter.spent() == ["permits_look", "client_describe"]


# --- several ------------------------------------------------------------------------------------


def test_three_locks_as_one_cost_what_each_costs(world: World, client: Any, meter: Meter) -> None:
    held = world.do(client.multilock("a", "b", "c").acquire)
    assert meter.spent() == ["lock_attempt"] * 3
    world.do(held.release)
    assert meter.spent() == ["lock_release"] * 3


def test_three_locks_of_which_the_last_is_busy_cost_a_try_each_a_look_and_the_way_back(
    world: World, client: Any, meter: Meter, redis_url: str, peek: Any
) -> None:
    world.do(introduced(world, redis_url, peek, meter).lock("c").acquire)
    meter.spent()
    assert world.do(lambda: client.multilock("a", "b", "c").acquire(blocking=False)) is None
    looked = ["lock_look", "client_describe"]
    assert meter.spent() == ["lock_attempt"] * 3 + looked + ["lock_release"] * 2


# --- looking ------------------------------------------------------------------------------------


@every_sort
def test_locked_is_one_command_when_free_and_two_when_held(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    face = sort.make(client, "k")
    assert not world.do(face.locked)
    assert meter.spent() == [sort.look]
    world.do(face.acquire)
    meter.spent()
    assert world.do(face.locked)
    assert meter.spent() == [sort.look, "client_describe"]


@every_sort
def test_inspecting_is_three_commands_when_held_and_one_when_free(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    assert world.do(lambda: client.inspect("k")) is None
    assert meter.spent() == ["names_classify"]
    world.do(sort.make(client, "k").acquire)
    meter.spent()
    assert world.do(lambda: client.inspect("k")).holders
    assert meter.spent() == ["names_classify", sort.look, "client_describe"]


def test_inspecting_a_latch_is_two_commands(world: World, client: Any, meter: Meter) -> None:
    world.do(lambda: client.latch("k").start(2))
    meter.spent()
    assert world.do(lambda: client.inspect("k")).count == 2
    assert meter.spent() == ["names_classify", "latch_look"]


@every_sort
def test_revoking_costs_what_inspecting_does_and_one_command_for_the_holder(
    world: World, client: Any, meter: Meter, sort: Sort
) -> None:
    world.do(sort.make(client, "k").acquire)
    meter.spent()
    world.do(lambda: client.revoke("k", reason="stuck"))
    looked = ["names_classify", sort.look, "client_describe"]
    # How much somebody has of a semaphore must be looked up once more.
    again = ["permits_look"] if sort.look == "permits_look" else []
    assert meter.spent() == looked + again + [sort.withdraw]


def test_listing_is_a_walk_and_two_commands_for_each_that_is_held(
    world: World, client: Any, meter: Meter
) -> None:
    for name in ("orders:1", "orders:2", "other"):
        world.do(client.lock(name).acquire)
    meter.spent()
    assert len(world.do(lambda: client.locks("orders:*"))) == 2
    walk, each = ["names_walk", "names_classify"], ["lock_look", "client_describe"]
    assert meter.spent() == walk + each * 2
