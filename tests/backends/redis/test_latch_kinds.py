"""One kind a name: what is no latch is refused untouched; and where latches live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from interlock import StoreMisconfigured
from interlock.backends.redis.keys import latch_channel
from interlock.backends.redis.latches import RedisLatches
from interlock.drive import now
from interlock.model import Busy

from ...support.worlds import World
from .counted import LEASES, Person, permits_of
from .watching import litter, messages

pytestmark = pytest.mark.server

#: A name, and where it is written down what it is.
NAMES = {
    "k": "interlock:kind:{k}",
    "{k}": "interlock:kind:tagged:{k}",
    "a{b}c": "interlock:kind:tagged:a{b}c",
    "ключ": "interlock:kind:{ключ}",
}

Arrive: TypeAlias = Callable[[], Person]


@pytest.fixture
def arrive(world: World, redis_url: str) -> Arrive:
    """Make people; they leave with the world."""
    return lambda: Person(world, redis_url, RedisLatches("test"))


REFUSED: dict[str, Callable[[Person], Any]] = {
    "set": lambda person: person.do(person.store.set_count("k", 2, now() + 5)),
    "count_down": lambda person: person.do(
        person.store.count_down("k", person.owner(), now() + 5)
    ),
    "attempt": lambda person: person.ask(),
    "look": lambda person: person.look(),
}


@pytest.mark.parametrize("question", REFUSED)
@pytest.mark.parametrize("what", ["semaphore", "leased_semaphore", "java", "lock", "text"])
def test_name_of_another_kind_is_refused_and_untouched(
    world: World, redis_url: str, arrive: Arrive, peek: Any, question: str, what: str
) -> None:
    if what == "java":
        peek.set("k", 2)
        peek.zadd(LEASES, {"sixteen bytes of": 9e12})
    elif what == "lock":
        peek.hset("k", "somebody", 1)
    elif what == "text":
        peek.set("k", "some words")
    else:
        Person(world, redis_url, permits_of(what, 2)).take()
    before = litter(peek)

    with pytest.raises(StoreMisconfigured, match="another name"):
        REFUSED[question](arrive())

    assert litter(peek) == before


@pytest.mark.parametrize("name", NAMES)
def test_channel_has_braces_whatever_the_name(arrive: Arrive, peek: Any, name: str) -> None:
    person = arrive()
    with messages(peek, "redisson*") as published:
        person.do(person.store.set_count(name, 1, now() + 5))
        assert published() == [(f"redisson_countdownlatch__channel__{{{name}}}", "1")]
    (topic,) = person.store.topics(name, person.owner(), Busy(None, None))
    assert topic == (latch_channel(name), None)
    assert litter(peek) == {name, NAMES[name]}
