"""One kind a name: what is something else is refused untouched; and where semaphores live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from interlock import StoreMisconfigured
from interlock.backends.redis.latches import RedisLatches
from interlock.backends.redis.locks import RedisLocks
from interlock.backends.redis.semaphores import RedisPermitStore, owner_of
from interlock.drive import now
from interlock.model import Busy, permit_id
from interlock.steps import Steps
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .counted import HOLDERS, KINDS, Meet, Person, permits_of
from .watching import litter

pytestmark = pytest.mark.server

each_kind = pytest.mark.parametrize("kind", KINDS)

NAMES = {"k": "{k}", "{k}": "{k}", "a{b}c": "a{b}c", "ключ": "{ключ}", "a b": "{a b}"}

#: Every operation that could harm a name of another kind.
QUESTIONS: dict[str, Callable[[RedisPermitStore, str], Steps[Any]]] = {
    "attempt": lambda store, owner: store.attempt("k", owner, 9.0, True, now() + 5),
    "set_permits": lambda store, owner: store.set_permits("k", 5, now() + 5),
    "look": lambda store, owner: store.look("k", now() + 5),
}


@pytest.fixture
def meet(world: World, redis_url: str) -> Meet:
    """Make people; they leave with the world."""
    return lambda store: Person(world, redis_url, store)


@pytest.fixture
def bare(redis_server: RedisServer, redis_url: str) -> Iterator[Any]:
    """A look at the bytes."""
    with redis.Redis(port=redis_server.port) as client:
        yield client


def other(kind: str) -> str:
    return next(each for each in KINDS if each != kind)


def made(what: str, kind: str, meet: Meet, bare: Any) -> None:
    """Make `k` something that is no semaphore of this kind."""
    if what == "latch":
        latches = meet(RedisLatches("test"))
        latches.do(latches.store.set_count("k", 2, now() + 5))
    elif what == "other":
        meet(permits_of(other(kind), 2)).take()
    elif what == "others of Java":
        bare.set("k", 2)
        bare.zadd(HOLDERS[other(kind)], {"6e3814a1-e847-852b-a982-45baf93a1df2:17*1": 9e12})
    elif what == "lock":
        bare.hset("k", "6e3814a1-e847-452b-a982-45baf93a1df2:1", 1)
    else:
        bare.set("k", what)


@each_kind
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "what", ["latch", "other", "others of Java", "lock", "6e3814a1e847452b", "1.5", ""]
)
def test_name_of_another_kind_is_refused_and_untouched(
    meet: Meet, bare: Any, kind: str, question: str, what: str
) -> None:
    made(what, kind, meet, bare)
    before = {key: bare.dump(key) for key in bare.keys("*")}
    person = meet(permits_of(kind, 2))

    with pytest.raises(StoreMisconfigured, match="another name"):
        person.do(QUESTIONS[question](person.store, person.owner()))

    assert {key: bare.dump(key) for key in bare.keys("*")} == before


@each_kind
def test_kind_is_named_to_whoever_is_refused(meet: Meet, kind: str) -> None:
    meet(permits_of(other(kind), 2)).take()

    with pytest.raises(StoreMisconfigured, match=f"in use as a {other(kind)}"):
        meet(permits_of(kind, 2)).take()


@each_kind
def test_semaphore_cannot_be_locked(meet: Meet, peek: Any, kind: str) -> None:
    meet(permits_of(kind, 2)).take()

    with pytest.raises(StoreMisconfigured):
        meet(RedisLocks("test")).take()
    assert peek.get("k") == "1"


@each_kind
def test_withdrawal_harms_nobody_who_waits_for_the_other_kind(
    meet: Meet, peek: Any, kind: str
) -> None:
    """Its question was refused, or lost on the way; the name was never of its kind."""
    holder = meet(permits_of(other(kind), 1))
    grant = holder.take()
    waiting = holder.wait()
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    stranger = meet(permits_of(kind))
    peek.incr("k")  # so that there would be something to hand over

    assert not stranger.do(stranger.store.withdraw("k", stranger.owner(), now() + 5))

    assert peek.zcard("interlock:queue:{k}") == 1
    assert holder.give(grant)
    assert holder.give(waiting.result(5))


@each_kind
@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_semaphore_follow_redissons_rules(
    meet: Meet, bare: Any, kind: str, name: str
) -> None:
    person = meet(permits_of(kind, 2))
    owner = person.owner()
    tagged = ":tagged" if "{" in name else ""
    holders = {
        "semaphore": f"interlock:permits{tagged}:{NAMES[name]}",
        "leased_semaphore": f"{NAMES[name]}:timeout",
    }

    person.do(person.store.attempt(name, owner, 9.0, False, now() + 5))

    expected = {name, holders[kind], f"interlock:kind{tagged}:{NAMES[name]}", "interlock:tokens"}
    assert {key.decode() for key in bare.keys("*")} == expected
    _, java = person.store.topics(name, owner, Busy(None, None, foreign=True))
    assert java.channel == f"redisson_sc:{NAMES[name]}"


def test_tagged_name_and_its_tag_are_counted_apart(meet: Meet, peek: Any) -> None:
    person = meet(permits_of("semaphore", 2))
    for name in ("k", "{k}"):
        person.do(person.store.attempt(name, person.owner(), 9.0, False, now() + 5))

    assert [peek.get("k"), peek.get("{k}")] == ["1", "1"]
    assert len(litter(peek)) == 6


@pytest.mark.parametrize(
    "owner", ["6e3814a1-e847-852b-a982-000000000000:18", "ffffffff-ffff-8fff-bfff-000000000000:98"]
)
def test_owner_is_read_back_from_its_permit(owner: str) -> None:
    assert owner_of(permit_id(owner)) == owner


@pytest.mark.parametrize(
    "digits", ["6e3814a1e847452ba98245baf93a1df2", "6e3814a1e847852ba982000000000017", "00"]
)
def test_permit_of_a_stranger_is_shown_as_java_prints_it(digits: str) -> None:
    assert owner_of(bytes.fromhex(digits)) == digits
