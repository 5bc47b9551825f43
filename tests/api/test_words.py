"""What a wrong call is told: which argument, what was given, what is expected.

A wrong type is a TypeError, a wrong value a UsageError, in both worlds alike.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import interlock
from interlock import Unsupported, UsageError, aio
from interlock.model import checked_timeout

WORLDS = (interlock, aio)

#: More than a float, and than Python is willing to print.
HUGE, UNPRINTABLE = 10**400, 10**5000


class Scene(NamedTuple):
    """What a call is made on: the names of one world, and a client of it."""

    il: ModuleType
    client: Any

    @property
    def lock(self) -> Any:
        return self.client.lock("orders:42")


class Wrong(NamedTuple):
    """A wrong call, and what its error must be and say."""

    call: str
    ask: Callable[[Scene], Any]
    kind: type[Exception]
    says: tuple[str, ...]


def times(argument: str, *methods: str) -> Iterator[Wrong]:
    """What is no length of time, wherever one is taken."""
    values: tuple[tuple[Any, type[Exception], tuple[str, ...]], ...] = (
        (HUGE, UsageError, ("401 digits",)),
        (-HUGE, UsageError, ("401 digits",)),
        (UNPRINTABLE, UsageError, ("5001 digits",)),
        (math.nan, UsageError, ("nan",)),
        (math.inf, UsageError, ("inf",)),
        ("10", TypeError, ("seconds", "'10' (str)")),
        (True, TypeError, ("seconds", "True (bool)")),
        ([1], TypeError, ("seconds", "[1] (list)")),
    )
    for method in methods:
        for value, kind, says in values:
            yield _with(method, argument, value, kind, says)


def numbers(argument: str, method: str, least: int) -> Iterator[Wrong]:
    """What is no number of permits or counts."""
    values: tuple[tuple[Any, type[Exception], str], ...] = (
        (least - 1, UsageError, str(least)),
        (HUGE, UsageError, "401 digits"),
        (UNPRINTABLE, UsageError, "5001 digits"),
        (1.5, TypeError, "1.5 (float)"),
        (math.nan, TypeError, "nan (float)"),
        ("2", TypeError, "'2' (str)"),
        (True, TypeError, "True (bool)"),
    )
    for value, kind, says in values:
        yield _with(method, argument, value, kind, ("int" if kind is TypeError else "", says))


def _with(
    method: str, argument: str, value: Any, kind: type[Exception], says: tuple[str, ...]
) -> Wrong:
    shown = f"{value!r:.12}" if value != UNPRINTABLE else "10**5000"
    return Wrong(
        f"{method}({argument}={shown})",
        lambda scene: getattr(scene.client, method)("x", **{argument: value}),
        kind,
        (f"{argument} must", *says),
    )


LOCKS = ("lock", "mutex", "fair_lock", "fenced_lock", "rwlock", "semaphore", "leased_semaphore")

MADE = (
    *times("timeout", *LOCKS, "multilock"),
    *times("lease", *LOCKS, "multilock"),
    *times("max_hold", *LOCKS, "multilock"),
    *numbers("permits", "semaphore", 1),
    *numbers("permits", "leased_semaphore", 1),
    *numbers("weight", "semaphore", 1),
    Wrong(
        "semaphore(weight=3, permits=2)",
        lambda s: s.client.semaphore("x", permits=2, weight=3),
        UsageError,
        ("weight 3", "2 permits"),
    ),
    Wrong("lock(renew=1)", lambda s: s.client.lock("x", renew=1), TypeError, ("renew must", "1")),
    Wrong(
        "lock(lease=0.01)",
        lambda s: s.client.lock("x", lease=0.01),
        UsageError,
        ("lease must", "50 ms", "30 days", "0.01"),
    ),
    Wrong("lock(5)", lambda s: s.client.lock(5), TypeError, ("name must be a str", "5 (int)")),
    Wrong("lock('')", lambda s: s.client.lock(""), UsageError, ("name must not be empty",)),
    Wrong(
        "multilock([…])",
        lambda s: s.client.multilock(["a", "b"]),
        TypeError,
        ("name must be a str", "['a', 'b'] (list)"),
    ),
    Wrong("multilock()", lambda s: s.client.multilock(), UsageError, ("multilock()", "one")),
    Wrong(
        "multilock('a', 'a')",
        lambda s: s.client.multilock("a", "a"),
        UsageError,
        ("'a'", "twice"),
    ),
)

TAKEN = (
    Wrong(
        "acquire(5)",
        lambda s: s.lock.acquire(5),
        TypeError,
        ("blocking must be True or False", "5 (int)", "acquire(timeout=5)"),
    ),
    Wrong(
        "acquire(0.5)",
        lambda s: s.lock.acquire(0.5),
        TypeError,
        ("blocking must be True or False", "acquire(timeout=0.5)"),
    ),
    Wrong(
        "acquire('x')",
        lambda s: s.lock.acquire("x"),
        TypeError,
        ("blocking must be True or False", "'x' (str)"),
    ),
    Wrong(
        "acquire(None)",
        lambda s: s.lock.acquire(None),
        TypeError,
        ("blocking must be True or False", "None"),
    ),
    Wrong(
        "multilock.acquire(5)",
        lambda s: s.client.multilock("a", "b").acquire(5),
        TypeError,
        ("blocking must be True or False", "acquire(timeout=5)"),
    ),
    Wrong(
        "acquire(False, timeout=5)",
        lambda s: s.lock.acquire(False, timeout=5),
        UsageError,
        ("tries once", "timeout"),
    ),
    Wrong(
        "acquire(timeout=10**400)",
        lambda s: s.lock.acquire(timeout=HUGE),
        UsageError,
        ("timeout must", "401 digits", "None waits for ever"),
    ),
    Wrong(
        "acquire(timeout=nan)",
        lambda s: s.lock.acquire(timeout=math.nan),
        UsageError,
        ("timeout must", "nan"),
    ),
    Wrong(
        "acquire(timeout=-2)",
        lambda s: s.lock.acquire(timeout=-2),
        UsageError,
        ("timeout must", "-2"),
    ),
    Wrong(
        "read(timeout=10**400)",
        lambda s: s.client.rwlock("x").read(timeout=HUGE),
        UsageError,
        ("timeout must", "401 digits"),
    ),
    Wrong(
        "latch.wait(10**400)",
        lambda s: s.client.latch("x").wait(HUGE),
        UsageError,
        ("timeout must", "401 digits"),
    ),
    Wrong(
        "latch.start(10**5000)",
        lambda s: s.client.latch("x").start(UNPRINTABLE),
        UsageError,
        ("count must", "5001 digits"),
    ),
    Wrong(
        "latch.start('2')",
        lambda s: s.client.latch("x").start("2"),
        TypeError,
        ("count must be an int", "'2' (str)"),
    ),
    Wrong(
        "set_permits(10**400)",
        lambda s: s.client.semaphore("x").set_permits(HUGE),
        UsageError,
        ("permits must", "401 digits"),
    ),
)

LOOKED_AT = (
    Wrong(
        "locks(5)",
        lambda s: s.client.locks(5),
        TypeError,
        ("pattern must be a str", "'orders:*'", "5 (int)"),
    ),
    Wrong(
        "inspect(5)", lambda s: s.client.inspect(5), TypeError, ("name must be a str", "5 (int)")
    ),
    Wrong(
        "inspect(lock)",
        lambda s: s.client.inspect(s.lock),
        TypeError,
        ("name must be a str", "Lock)"),
    ),
    Wrong("revoke(5)", lambda s: s.client.revoke(5), TypeError, ("name must be a str", "5 (int)")),
    Wrong(
        "revoke(reason=5)",
        lambda s: s.client.revoke("x", reason=5),
        TypeError,
        ("reason must be a str", "5 (int)"),
    ),
    Wrong(
        "request_release(5)",
        lambda s: s.client.request_release(5),
        TypeError,
        ("name must be a str", "5 (int)"),
    ),
)


async def hear(event: object) -> None: ...


class Hearing:
    async def __call__(self, event: object) -> None: ...


def plain() -> None: ...


async def awaited() -> None: ...


def decorated(scene: Scene, *args: Any, **terms: Any) -> Any:
    return scene.client.locked(*args, **terms)(plain if scene.il is interlock else awaited)


CALLED_BACK = (
    Wrong(
        "connect(observer=5)",
        lambda s: s.il.connect("memory://", observer=5),
        TypeError,
        ("observer must be a function", "5 (int)"),
    ),
    Wrong(
        "connect(observer=async function)",
        lambda s: s.il.connect("memory://", observer=hear),
        TypeError,
        ("observer must be a plain function", "await"),
    ),
    Wrong(
        "connect(observer=async object)",
        lambda s: s.il.connect("memory://", observer=Hearing()),
        TypeError,
        ("observer must be a plain function", "await"),
    ),
    Wrong("locked(5)", lambda s: decorated(s, 5), TypeError, ("name must be a str", "5 (int)")),
    Wrong(
        "locked(on_busy='wait')",
        lambda s: decorated(s, "x", on_busy="wait"),
        UsageError,
        ("on_busy must be 'raise' or 'skip'", "'wait'"),
    ),
    Wrong(
        "locked(timeout='soon')",
        lambda s: decorated(s, "x", timeout="soon"),
        UsageError,
        ("timeout must look like", "'soon'"),
    ),
    Wrong(
        "locked(timeout=10**400)",
        lambda s: decorated(s, "x", timeout=HUGE),
        UsageError,
        ("timeout must", "401 digits"),
    ),
)

TOGETHER = (
    Wrong(
        "all_of('a', 'b')",
        lambda s: s.il.all_of("a", "b"),
        TypeError,
        ("all_of() takes locks", "'a'", "client.multilock('a', 'b')"),
    ),
    Wrong(
        "majority_of('a', 'b')",
        lambda s: s.il.majority_of("a", "b"),
        TypeError,
        ("majority_of() takes locks", "'a'", "client.lock('a')"),
    ),
    Wrong(
        "all_of([locks])",
        lambda s: s.il.all_of([s.lock, s.client.lock("b")]),
        TypeError,
        ("all_of() takes locks", "all_of(*locks)"),
    ),
    Wrong(
        "all_of(rwlock)",
        lambda s: s.il.all_of(s.client.rwlock("x")),
        TypeError,
        ("all_of() takes locks", "read()", "write()"),
    ),
    Wrong(
        "all_of(latch)",
        lambda s: s.il.all_of(s.client.latch("x")),
        TypeError,
        ("all_of() takes locks", "Latch"),
    ),
    Wrong(
        "all_of(lock of the other world)",
        lambda s: s.il.all_of(s.lock, other_world(s).lock("x")),
        TypeError,
        ("all_of() takes locks", "asyncio"),
    ),
    Wrong("all_of(5)", lambda s: s.il.all_of(5), TypeError, ("all_of() takes locks", "5 (int)")),
    Wrong("all_of()", lambda s: s.il.all_of(), UsageError, ("all_of()", "at least one")),
    Wrong(
        "all_of(timeout=10**400)",
        lambda s: s.il.all_of(s.lock, timeout=HUGE),
        UsageError,
        ("timeout must", "401 digits"),
    ),
)


def other_world(scene: Scene) -> Any:
    other = aio if scene.il is interlock else interlock
    return other.connect(f"memory://{uuid.uuid4()}")


CONNECTED = (
    Wrong(
        "connect('redis')",
        lambda s: s.il.connect("redis"),
        UsageError,
        ("url must", "redis://localhost"),
    ),
    Wrong(
        "connect('ZK')", lambda s: s.il.connect("ZK"), UsageError, ("url must", "zk://localhost")
    ),
    Wrong("connect('memory')", lambda s: s.il.connect("memory"), UsageError, ("memory://",)),
    Wrong("connect('sqlite')", lambda s: s.il.connect("sqlite"), UsageError, ("sqlite:///",)),
    Wrong("connect('')", lambda s: s.il.connect(""), UsageError, ("url must", "redis://")),
    Wrong(
        "connect('localhost:6379')",
        lambda s: s.il.connect("localhost:6379"),
        UsageError,
        ("url must", "redis://localhost"),
    ),
    Wrong(
        "connect('/var/lib/locks.db')",
        lambda s: s.il.connect("/var/lib/locks.db"),
        UsageError,
        ("url must", "sqlite:///"),
    ),
    Wrong(
        "connect('http://…')",
        lambda s: s.il.connect("http://localhost"),
        Unsupported,
        ("http://", "redis://"),
    ),
    Wrong("connect(5)", lambda s: s.il.connect(5), TypeError, ("url must be a str", "int")),
    Wrong(
        "connect(colour=1)",
        lambda s: s.il.connect("redis://localhost", colour=1),
        TypeError,
        ("'colour'", "insecure_tls, longest_lease, password, replicas, restart_guard, username"),
    ),
    Wrong(
        "connect(memory, colour=1)",
        lambda s: s.il.connect("memory://", colour=1),
        TypeError,
        ("'colour'", "no options"),
    ),
)

WRONG = (*MADE, *TAKEN, *LOOKED_AT, *CALLED_BACK, *TOGETHER, *CONNECTED)


def raised(il: ModuleType, ask: Callable[[Scene], Any]) -> Exception:
    """What a call raises, in either world."""

    async def answer() -> None:
        async with aio.connect(f"memory://{uuid.uuid4()}") as client:
            outcome = ask(Scene(aio, client))
            if inspect.isawaitable(outcome):
                await outcome

    with pytest.raises((TypeError, UsageError, Unsupported)) as caught:
        if il is aio:
            asyncio.run(answer())
        else:
            with interlock.connect(f"memory://{uuid.uuid4()}") as client:
                ask(Scene(interlock, client))
    return caught.value


@pytest.mark.parametrize("il", WORLDS, ids=("threads", "asyncio"))
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.call)
def test_a_wrong_call_is_told_what_is_expected(wrong: Wrong, il: ModuleType) -> None:
    error = raised(il, wrong.ask)

    assert type(error) is wrong.kind
    for words in wrong.says:
        assert words in str(error)
    assert len(str(error)) < 300


@pytest.mark.parametrize("il", WORLDS, ids=("threads", "asyncio"))
@pytest.mark.parametrize(
    "secret", ["s3cret", "s3cret:6379", "user:s3cret@host", "s3cret@host/0", ":s3cret@host:6379"]
)
def test_what_may_be_a_password_is_not_repeated(secret: str, il: ModuleType) -> None:
    assert "s3cret" not in str(raised(il, lambda scene: scene.il.connect(secret)))


@pytest.mark.parametrize("il", WORLDS, ids=("threads", "asyncio"))
def test_a_wrong_url_of_the_environment_is_told_by_its_name(
    il: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_URL", "redis")

    error = raised(il, lambda scene: scene.il.connect())

    assert "INTERLOCK_URL" in str(error)
    assert "redis://localhost" in str(error)


@pytest.mark.parametrize("timeout", [1e300, 10**300, timedelta.max])
def test_a_very_long_timeout_is_a_timeout(timeout: Any) -> None:
    assert checked_timeout(timeout) > 1e13
    with interlock.connect("memory://long") as client:
        for kind in LOCKS:
            terms = {"permits": 1} if "semaphore" in kind else {}
            lock = getattr(client, kind)(kind, timeout=timeout, **terms)
            with lock.read() if kind == "rwlock" else lock as hold:
                assert not hold.lost
