"""The least that a Redis user needs, as the documentation says it; and no less than that."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock import AcquireTimeout, LockLost, StoreMisconfigured
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import Threads, World
from .watching import raw

pytestmark = pytest.mark.server

PAGE = Path(__file__).parents[3] / "docs" / "backends" / "redis.md"


def documented() -> list[str]:
    """The words of the ACL command in the documentation."""
    found = re.search(r"```acl\nACL (SETUSER .*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found.group(1).replace("SECRET", "pw").split()


COMMANDS = [word[1:] for word in documented() if word.startswith("+")]


class Fortress(RedisServer):
    """A server whose default user is off."""

    def __init__(self) -> None:
        super().__init__()
        self.admin = raw(self.port, username="admin", password="pw")
        with raw(self.port) as default:
            default.execute_command("ACL", "SETUSER", "admin", "on", ">pw", "~*", "&*", "+@all")
            default.execute_command("ACL", "SETUSER", "default", "off")

    @property
    def url(self) -> str:
        return f"redis://interlock:pw@127.0.0.1:{self.port}/1?client_name=test"

    def admit(self, *without: str) -> None:
        """Make the documented user, perhaps without some rights."""
        self.admin.execute_command("ACL", "DELUSER", "interlock")
        words = [word for word in documented() if word not in without]
        self.admin.execute_command("ACL", *words)
        self.admin.execute_command("ACL", "LOG", "RESET")

    def close(self) -> None:
        self.admin.close()
        super().close()


@pytest.fixture(scope="module")
def server() -> Iterator[Fortress]:
    fortress = Fortress()
    with fortress:
        yield fortress


#: Seconds: long for a busy machine, and short for one who waits for renewals.
LEASE = 0.8


def use_everything(world: World, server: Fortress) -> None:
    """Everything a program does with locks, seen from the server."""
    first, second = (world.connect(server.url) for _ in range(2))
    for kind in ("lock", "mutex", "fair_lock", "fenced_lock", "write", "semaphore", "leased"):
        contend(world, server, *(KINDS[kind](each) for each in (first, second)))
    wait_for_java(world, server, first.lock("orders:java"))
    count_on(world, server, first.fenced_lock("orders:counted"))
    read_and_write(world, server, first, second)
    leave_a_crowd(world, server, cache=first.rwlock("orders:many").read())
    come_back(world, second.semaphore("orders:back", permits=1, lease=0.05, renew=False))
    line_up_and_leave(world, server, first, second)
    count_down(world, server, first, second)
    look(world, first)
    world.do(first.once("orders").record)
    do_once(world, first)


def do_once(world: World, client: Any) -> None:
    """What jobs need as well."""

    def block() -> None:
        with client.once("orders"):
            pass

    async def block_async() -> None:
        async with client.once("orders"):
            pass

    world.do(block if isinstance(world, Threads) else block_async)


#: Ways to make something that one at a time can hold.
KINDS: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("orders:lock", lease=LEASE),
    "mutex": lambda client: client.mutex("orders:mutex", lease=LEASE),
    "fair_lock": lambda client: client.fair_lock("orders:fair", lease=LEASE),
    "fenced_lock": lambda client: client.fenced_lock("orders:fenced", lease=LEASE),
    "write": lambda client: client.rwlock("orders:rw", lease=LEASE).write(),
    "semaphore": lambda client: client.semaphore("orders:sem", permits=1, lease=LEASE),
    "leased": lambda client: client.leased_semaphore("orders:leased", permits=1, lease=LEASE),
}


def contend(world: World, server: Fortress, first: Any, second: Any) -> None:
    """Hold, be refused, give up, wait, be renewed, hand over."""
    hold = world.do(first.acquire)
    assert world.do(second.locked)
    with pytest.raises(AcquireTimeout):
        world.do(lambda: second.acquire(timeout=0.02))
    waiting = world.start(second.acquire)
    eventually(lambda: queued(server, first.name), within=2)
    until = hold._lease.until
    eventually(lambda: hold._lease.until > until or hold.lost, within=2)
    world.do(hold.release)
    world.do(waiting.result(5).release)


def read_and_write(world: World, server: Fortress, first: Any, second: Any) -> None:
    """Read beside others, keep a writer waiting, go on reading after writing."""
    cache, other = first.rwlock("orders:rw", lease=LEASE), second.rwlock("orders:rw", lease=LEASE)
    hold, beside = world.do(cache.read().acquire), world.do(other.read().acquire)
    writing = world.start(other.write().acquire)
    eventually(lambda: queued(server, "orders:rw"), within=2)
    world.do(hold.release)
    world.do(beside.release)
    world.do(writing.result(5).downgrade)
    world.do(writing.result().release)


def leave_a_crowd(world: World, server: Fortress, cache: Any) -> None:
    """Read beside very many others."""
    with raw(server.port, username="admin", password="pw", db=1) as java:
        java.hset("orders:many", mapping={"mode": "read"} | {f"{JAVA}{n}": "1" for n in range(99)})
        java.pexpire("orders:many", 20_000)
        for n in range(99):
            java.set(f"{{orders:many}}:{JAVA}{n}:rwlock_timeout:1", "1", px=20_000)
    world.do(world.do(cache.acquire).release)


def come_back(world: World, semaphore: Any) -> None:
    """A permit that nobody gives back comes back by itself."""
    world.do(semaphore.acquire)
    world.do(semaphore.acquire)
    world.do(lambda: semaphore.set_permits(2))


def line_up_and_leave(world: World, server: Fortress, first: Any, second: Any) -> None:
    """Leave the middle of a fair queue, whose head was dead."""
    with raw(server.port, username="admin", password="pw", db=1) as java:
        java.rpush("redisson_lock_queue:{orders:fair}", JAVA)
        java.zadd("redisson_lock_timeout:{orders:fair}", {JAVA: 1})
    hold = world.do(first.fair_lock("orders:fair").acquire)
    leaving = world.start(second.fair_lock("orders:fair", timeout=1.0).acquire)
    eventually(lambda: queued(server, "orders:fair"), within=2)
    staying = world.start(world.connect(server.url).fair_lock("orders:fair").acquire)
    eventually(lambda: queued(server, "orders:fair") == 2, within=2)
    assert isinstance(leaving.exception(5), AcquireTimeout)
    world.do(hold.release)
    world.do(staying.result(5).release)


def count_down(world: World, server: Fortress, first: Any, second: Any) -> None:
    latch = first.latch("orders:latch")
    world.do(lambda: latch.start(2))
    waiting = world.start(second.latch("orders:latch").wait)
    world.do(latch.count_down)
    world.do(latch.count_down)
    assert waiting.result(5)


def look(world: World, client: Any) -> None:
    hold = world.do(client.lock("orders:lock").acquire)
    assert world.do(lambda: client.inspect("orders:lock"))
    assert world.do(lambda: client.locks("orders:*"))
    assert world.do(lambda: client.revoke("orders:lock"))
    with contextlib.suppress(LockLost):
        world.do(hold.release)


def queued(server: Fortress, name: str) -> int:
    with raw(server.port, username="admin", password="pw", db=1) as peek:
        ours: int = peek.zcard(f"interlock:queue:{{{name}}}")
        fair: int = peek.llen(f"redisson_lock_queue:{{{name}}}")
        return ours + fair


#: Somebody of Redisson's.
JAVA = "6e3814a1-e847-452b-a982-45baf93a1df2:1"


def wait_for_java(world: World, server: Fortress, lock: Any) -> None:
    with raw(server.port, username="admin", password="pw", db=1) as java:
        java.hset("orders:java", JAVA, 1)
        java.pexpire("orders:java", 20_000)
        waiting = world.start(lock.acquire)
        eventually(lambda: queued(server, "orders:java"), within=2)
        java.delete("orders:java")
        java.publish("redisson_lock__channel:{orders:java}", "0")
        world.do(waiting.result(5).release)


def count_on(world: World, server: Fortress, lock: Any) -> None:
    """Go on from a token of Java's."""
    with raw(server.port, username="admin", password="pw", db=1) as java:
        token = java.incr("redisson_lock_token:{orders:counted}")
    hold = world.do(lock.acquire)
    assert hold.token == token + 1
    world.do(hold.release)


def test_documented_rights_are_enough(world: World, server: Fortress) -> None:
    server.admit()
    use_everything(world, server)
    assert server.admin.execute_command("ACL", "LOG") == []


#: Asked for only when a wake connection has been silent for five seconds.
SELDOM = {"ping"}


@pytest.fixture
def limited(server: Fortress) -> Iterator[World]:
    """A world whose user lacks something until its clients are closed."""
    server.admin.flushall()
    server.admin.script_flush()
    world = Threads()
    yield world
    server.admit()
    world.close()


def is_denied(world: World, server: Fortress, command: str) -> bool:
    """Whether the server refuses a command while everything is used.

    A lease that a busy machine lets end, ends the scene before it came to that.
    """
    server.admin.flushall()
    with contextlib.suppress(StoreMisconfigured, LockLost, AssertionError):
        use_everything(world, server)
    denied = server.admin.execute_command("ACL", "LOG")
    return any(command in str(entry) for entry in denied)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - SELDOM))
def test_each_documented_right_is_needed_and_its_lack_leaves_no_ghost(
    limited: World, server: Fortress, command: str
) -> None:
    server.admit(f"+{command}")
    assert any(is_denied(limited, server, command) for _ in range(3))
    with raw(server.port, username="admin", password="pw", db=1) as peek:
        locks = [key for key in peek.keys("orders:*") if peek.type(key) == "hash"]
        assert [key for key in locks if peek.pttl(key) == -1] == []


@pytest.mark.parametrize("command", ["hset", "pexpire", "set", "time", "exists", "evalsha"])
def test_lack_of_a_right_is_one_clear_error_and_nothing_is_granted(
    world: World, server: Fortress, command: str
) -> None:
    server.admin.flushall()
    server.admit(f"+{command}")
    with pytest.raises(StoreMisconfigured, match="denies this user"):
        world.do(world.connect(server.url).lock("orders:1").acquire)
    with raw(server.port, username="admin", password="pw", db=1) as peek:
        assert not peek.exists("orders:1")
    server.admit()


@pytest.mark.parametrize("pattern", ["~orders:*", "~interlock:*", "&interlock:wake:*"])
def test_each_documented_pattern_is_needed(limited: World, server: Fortress, pattern: str) -> None:
    server.admit(pattern)
    with pytest.raises((StoreMisconfigured, AssertionError)):
        use_everything(limited, server)


def test_subscription_that_was_denied_works_once_it_is_allowed(
    world: World, server: Fortress
) -> None:
    server.admin.flushall()
    server.admit("+subscribe")
    first, second = (world.connect(server.url).lock("orders:1") for _ in range(2))
    hold = world.do(first.acquire)
    with pytest.raises(StoreMisconfigured, match="denies this user"):
        world.do(second.acquire)
    server.admin.execute_command("ACL", "SETUSER", "interlock", "+subscribe")
    waiting = world.start(second.acquire)
    eventually(lambda: queued(server, "orders:1"))
    world.do(hold.release)
    world.do(waiting.result(5).release)
