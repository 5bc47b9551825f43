"""Others write where a lock lives: the loss is reported, and their keys are left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock import LockLost, StoreMisconfigured
from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.drive import now, run

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import litter, tombs

pytestmark = pytest.mark.server

OWNER = "00000000-0000-8000-8000-000000000001:1"


def make_list(peek: Any) -> None:
    peek.delete("k")
    peek.rpush("k", "somebody else's", "data")


#: What somebody else may do to the key of a held lock.
DEEDS: dict[str, Callable[[Any], Any]] = {
    "deleted": lambda peek: peek.delete("k"),
    "flushed": lambda peek: peek.flushall(),
    "overwritten by a string": lambda peek: peek.set("k", "theirs"),
    "overwritten by a list": make_list,
    "renamed": lambda peek: peek.rename("k", "elsewhere"),
    "expired": lambda peek: peek.pexpire("k", 1),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_interference_with_a_held_key_is_reported(
    world: World, redis_url: str, peek: Any, kind: str, deed: str
) -> None:
    block = world.hold_block(getattr(world.connect(redis_url), kind)("k", lease=0.3))
    hold = block.entered.result(5)
    DEEDS[deed](peek)
    theirs = peek.dump("k") if deed != "expired" else None

    eventually(lambda: hold.lost, within=1)
    block.leave()
    with pytest.raises(LockLost):
        block.outcome.result(5)
    assert peek.exists("k") == (theirs is not None)


@pytest.mark.parametrize("deed", DEEDS)
def test_interference_is_found_at_the_release_if_not_before(
    world: World, redis_url: str, peek: Any, kind: str, deed: str
) -> None:
    hold = world.do(getattr(world.connect(redis_url), kind)("k", lease=30).acquire)
    DEEDS[deed](peek)
    if deed == "expired":
        eventually(lambda: not peek.exists("k"))
    with pytest.raises((LockLost, StoreMisconfigured)):
        world.do(hold.release)
    assert litter(peek) - tombs(peek) <= {"k", "elsewhere"}


def occupy_string(peek: Any) -> None:
    peek.set("k", "a string of somebody else's")


def occupy_list(peek: Any) -> None:
    peek.rpush("k", "a", "b")


def occupy_rwlock(peek: Any) -> None:
    """A read/write lock of Redisson's, held by a writer."""
    peek.hset("k", mapping={"mode": "write", f"{OWNER}:write": "1"})
    peek.pexpire("k", 60_000)


def occupy_set(peek: Any) -> None:
    peek.sadd("k", "a")


FOREIGN = {
    ("lock", "string"): occupy_string,
    ("lock", "list"): occupy_list,
    ("lock", "rwlock"): occupy_rwlock,
    ("mutex", "list"): occupy_list,
    ("mutex", "set"): occupy_set,
    ("mutex", "rwlock"): occupy_rwlock,
}


@pytest.mark.parametrize(("kind", "occupant"), FOREIGN)
def test_name_of_another_kind_is_refused_and_untouched(
    world: World, redis_url: str, peek: Any, kind: str, occupant: str
) -> None:
    FOREIGN[kind, occupant](peek)
    before, keys = peek.execute_command("DUMP", "k", NEVER_DECODE=True), set(peek.keys("*"))
    lock = getattr(world.connect(redis_url), kind)("k")
    for ask in (lock.acquire, lambda: lock.acquire(blocking=False), lock.locked):
        with pytest.raises(StoreMisconfigured, match=r"'k'.*kind|in use as"):
            world.do(ask)
    assert peek.execute_command("DUMP", "k", NEVER_DECODE=True) == before
    assert set(peek.keys("*")) == keys


def test_kinds_of_our_own_refuse_each_other(world: World, redis_url: str, peek: Any) -> None:
    client = world.connect(redis_url)
    for first, second in (("lock", "mutex"), ("mutex", "lock")):
        hold = world.do(getattr(client, first)("k").acquire)
        with pytest.raises(StoreMisconfigured):
            world.do(getattr(client, second)("k").acquire)
        assert not hold.lost
        world.do(hold.release)
    assert litter(peek) == set()


@pytest.mark.parametrize("kind", ["lock", "mutex"])
def test_spoilt_token_counter_grants_nothing(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    """A script that fails must not have granted first."""
    peek.rpush("interlock:tokens", "not a number")
    with pytest.raises(StoreMisconfigured):
        world.do(getattr(world.connect(redis_url), kind)("k").acquire)
    assert litter(peek) == set()


@pytest.mark.parametrize("kind", ["lock", "mutex"])
def test_operations_on_a_name_of_another_kind_change_nothing(
    redis_url: str, peek: Any, kind: str
) -> None:
    """Also those of a holder that was there before: renew and withdraw do not even fail."""
    backend = RedisBackend(UrlFactory(read_url(redis_url)))
    store, link = (backend.locks if kind == "lock" else backend.mutexes), backend.link()
    occupy_list(peek)
    assert run(store.renew([("k", OWNER)], 1.0, now() + 5), link) == [False]
    assert run(store.withdraw("k", OWNER, now() + 5), link) is False
    assert peek.lrange("k", 0, -1) == ["a", "b"]
    link.close()
