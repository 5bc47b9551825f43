"""Who has permits and who waits, decided from names alone; and tries in a crowd."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from interlock.backends.zookeeper import layout
from interlock.backends.zookeeper.layout import lease_holders, leases_up_to
from interlock.backends.zookeeper.permits import other_use
from tests.support.frames import ZkProxy

from ...support.worlds import World
from .asked import JAVA, stranger
from .test_permits_layout import inside, made, nodes

CLIENT = "6ba7b810-9dad-8111-8000-000000000000"


def owner(number: int, mark: int = 7) -> str:
    return f"{CLIENT}:{number}{mark}"


def place(who: str, number: int) -> str:
    return f"{layout.prefix_of(who)}-lock-{number:010}"


def lease(who: str, number: int) -> str:
    return f"{layout.prefix_of(who)}-lease-{number:010}"


ANN, BOB, EVE = owner(1), owner(2), owner(3)


# --- who has permits ---------------------------------------------------------------------------


def test_first_in_line_waits_while_there_are_leases_too_many() -> None:
    leases = [lease(BOB, 2), lease(ANN, 1)]
    assert lease_holders([place(EVE, 5), place(BOB, 4)], leases, 1) == ([lease(ANN, 1)], 2)


def test_first_in_line_has_its_leases_where_none_is_too_many() -> None:
    leases = [lease(ANN, 1), lease(BOB, 2)]
    assert lease_holders([place(BOB, 4), place(EVE, 5)], leases, 2) == (leases, 1)


def test_every_lease_of_a_weight_waits() -> None:
    leases = [lease(ANN, 1), lease(BOB, 2), lease(BOB, 3)]
    assert lease_holders([place(BOB, 4)], leases, 2) == ([lease(ANN, 1)], 1)


def test_newest_lease_waits_where_java_is_the_first_in_line() -> None:
    leases = [f"{JAVA}-lease-0000000009", lease(ANN, 1)]
    line = ["_c_11111111-ae02-4944-b84e-7064953fffa9-lock-0000000003"]
    assert lease_holders(line, leases, 1) == ([lease(ANN, 1)], 1)


def test_holders_stay_holders_when_there_are_fewer_permits_than_leases() -> None:
    leases = [lease(ANN, 1), lease(BOB, 2)]
    assert lease_holders([], leases, 1) == (leases, 0)
    assert lease_holders([], leases, None) == (leases, 0)


# --- what a try has to reckon with -------------------------------------------------------------


def test_crowd_is_leases_and_those_before_us_who_have_none_and_ourselves() -> None:
    line = [place(ANN, 1), place(BOB, 2), place(EVE, 3), place(owner(4), 4)]
    assert leases_up_to(line, [], line[2], 1) == 3
    assert leases_up_to(line, [lease(ANN, 1), lease(BOB, 2), lease(BOB, 3)], line[2], 2) == 5


# --- as what else a name is in use -------------------------------------------------------------


def test_lasting_facts_decide_as_what_a_name_is_in_use() -> None:
    assert other_use(["count", "locks", "leases"], [], [], "semaphore") is None
    assert other_use(["count", "locks", "leases"], [], [], "mutex") == "semaphore"
    assert other_use(["leased"], [], [], "semaphore") == "leased_semaphore"
    assert other_use(["latch%"], [], [], "mutex") == "latch"


def test_without_a_fact_our_nodes_decide_and_javas_are_what_we_are() -> None:
    mutex = lease(owner(1, mark=2), 1)
    assert other_use(["leases"], [mutex], [], "mutex") is None
    assert other_use(["leases"], [lease(ANN, 2), mutex], [], "semaphore") == "mutex"
    assert other_use(["leases"], [f"{JAVA}-lease-0000000001"], [], "leased_semaphore") is None


# --- tries in a crowd --------------------------------------------------------------------------


@pytest.mark.server
def test_try_lets_those_before_it_pass_where_there_is_room(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    """Somebody is about to take one of two permits: the other one is free."""
    semaphore = made(world.connect(zk_proxy.url(zk_path)), "semaphore", 2)
    world.do(world.do(semaphore.acquire).release)
    before = stranger(peek, f"{JAVA}-lock-", "k/locks")
    zk_proxy.delay(up=0.03, down=0.03)
    leave_behind(peek, before)

    assert world.do(lambda: semaphore.acquire(blocking=False)) is not None


def leave_behind(peek: Any, place: str) -> None:
    """Take a place in line away as soon as somebody stands behind it."""

    def look(_: Any = None) -> None:
        if len(peek.get_children("/k/locks", watch=look)) > 1:
            gone.set()

    gone = threading.Event()
    look()
    threading.Thread(target=lambda: gone.wait(20) and peek.delete(place), daemon=True).start()


@pytest.mark.server
@pytest.mark.parametrize("kind", ["mutex", "semaphore"])
def test_try_gives_up_behind_somebody_who_stays(
    world: World, zk_url: str, peek: Any, kind: str
) -> None:
    stranger(peek, f"{JAVA}-lock-", "k/locks")
    thing = made(world.connect(zk_url), kind, 5)

    assert world.do(lambda: thing.acquire(blocking=False)) is None

    assert inside(peek) == ([JAVA[3:]], [])
    assert nodes(peek, "leases") == []
