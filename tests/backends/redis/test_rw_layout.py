"""Read/write locks are laid out as Redisson's are, and share their names with nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreMisconfigured
from interlock.backends.redis.keys import WAKE, rw_channel
from interlock.backends.redis.locks import RedisLocks
from interlock.backends.redis.scripts import script
from interlock.drive import now
from interlock.model import PROVISIONAL, Busy

from ...support.worlds import World
from .readwrite import LEASE, READ, WRITE, Desk, hold, javas, reads, writes
from .watching import Monitor, litter

pytestmark = pytest.mark.server


@pytest.fixture
def desk(world: World, redis_url: str, peek: Any) -> Desk:
    return Desk(world, redis_url, peek)


def test_readers_are_fields_and_keys_with_leases_of_their_own(desk: Desk) -> None:
    assert desk.gets(reads(1), 20.0) and desk.gets(reads(2), 30.0)
    assert desk.fields() == {"mode": "read", reads(1): "1", reads(2): "1"}
    assert desk.peek.mget(hold(reads(1)), hold(reads(2))) == ["1", "1"]
    assert desk.left(hold(reads(1))) == 20
    assert desk.left(hold(reads(2))) == desk.left() == 30

    assert desk.release(reads(1)) and desk.release(reads(2))
    assert litter(desk.peek) == set()


def test_a_writer_is_a_field_and_its_lease_is_the_hashs(desk: Desk) -> None:
    assert desk.gets(writes(1))
    assert desk.fields() == {"mode": "write", f"{writes(1)}:write": "1"}
    assert desk.left() == LEASE

    assert desk.release(writes(1))
    assert litter(desk.peek) == set()


def test_tokens_grow_over_whatever_was_given_before(desk: Desk) -> None:
    desk.peek.set("interlock:tokens", "8000000000000000")
    assert desk.ask(reads(1)) == 8_000_000_000_000_001
    assert desk.ask(reads(2)) == 8_000_000_000_000_002
    assert desk.peek.get("interlock:tokens") == "8000000000000002"


NAMES = {
    "k": ("{k}:%s:rwlock_timeout:1", "redisson_rwlock:{k}"),
    "{k}": ("{k}:%s:rwlock_timeout:1", "redisson_rwlock:{k}"),
    "a{b}c": ("a{b}c:%s:rwlock_timeout:1", "redisson_rwlock:a{b}c"),
    "foo{bar": ("foo{bar:%s:rwlock_timeout:1", "redisson_rwlock:foo{bar"),
    "a}b:": ("{a}b:}:%s:rwlock_timeout:1", "redisson_rwlock:{a}b:}"),
    "ключ %d": ("{ключ %%d}:%s:rwlock_timeout:1", "redisson_rwlock:{ключ %d}"),
}


def escaped(text: str) -> str:
    """As MONITOR prints it."""
    return "".join(chr(byte) if byte < 128 else f"\\x{byte:02x}" for byte in text.encode())


@pytest.mark.parametrize("name", NAMES)
def test_hold_keys_and_channel_are_named_as_redisson_names_them(
    desk: Desk, redis_server: Any, name: str
) -> None:
    key, topic = NAMES[name][0] % writes(1), NAMES[name][1]
    desk.run(WRITE.attempt(name, writes(1), LEASE, False, now() + 10))
    with Monitor(redis_server.port) as monitor:
        assert desk.run(WRITE.downgrade(name, writes(1), LEASE, now() + 10))
        assert desk.peek.get(key) == "1"
        assert desk.run(READ.renew([(name, writes(1))], 60.0, now() + 10)) == [True]
        assert desk.left(key) == 60
        assert desk.run(READ.release(name, writes(1), now() + 10))
        published = [seen.words for seen in monitor.commands() if seen.verb == "PUBLISH"]

    assert rw_channel(name) == topic
    assert [words[-1] for words in published] == ["1", "0", "0"]
    assert {" ".join(words[1:-1]) for words in published} == {escaped(topic)}
    assert litter(desk.peek) == set()


@pytest.mark.parametrize("name", ["rwlock_release", "rwlock_downgrade"])
def test_a_script_hands_over_as_the_model_says(name: str) -> None:
    words = f"local wake, provisional_ms = '{WAKE}', {PROVISIONAL * 1000:.0f}\n"
    assert words in script(name).text
    assert f"'{WAKE}'" in script("rwlock_attempt").text


# --- looking ---------------------------------------------------------------------------------


def test_looking_tells_every_holder_with_its_mode_and_lease(desk: Desk) -> None:
    assert desk.look() is None
    desk.ask(reads(1), 20.0)
    desk.ask(reads(2, client=2), 30.0)
    with desk.subscribed(1):
        desk.waits(writes(3), reads(4))
        info = desk.look()

    assert info is not None and (info.kind, info.waiters) == ("rwlock", 2)
    assert [(each.owner, each.mode, each.weight) for each in info.holders] == [
        (reads(1), "read", 1),
        (reads(2, client=2), "read", 1),
    ]
    short, long = (each.expires_in or 0 for each in info.holders)
    assert 15 < short <= 20 < 25 < long <= 30
    assert info.expires_in == short


def test_looking_tells_a_writer_by_the_lease_of_the_hash(desk: Desk) -> None:
    desk.ask(writes(1))
    info = desk.look()
    assert info is not None
    (holder,) = info.holders
    assert (holder.owner, holder.mode) == (writes(1), "write")
    assert holder.expires_in is not None and LEASE - 5 < holder.expires_in <= LEASE


def test_looking_tells_who_the_holders_are(desk: Desk) -> None:
    person = '{"host": "here", "pid": 7, "program": "tests", "started": 1.0}'
    desk.peek.set(f"interlock:client:{reads(1)[:36]}", person)
    desk.ask(reads(1))
    info = desk.look()
    assert info is not None and str(info.holders[0]) == "here:7 (tests)"
    assert info.holders[0].mode == "read"


# --- one kind a name -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holder", "kind"),
    [
        (reads(1)[:-1] + "1", "lock"),
        (reads(1)[:-1] + "3", "fair_lock"),
        (reads(1)[:-1] + "4", "fenced_lock"),
        (javas(), "lock"),
    ],
)
def test_a_hash_without_a_mode_is_refused_and_untouched(
    desk: Desk, holder: str, kind: str
) -> None:
    """Where Redisson would grant, and destroy what is there."""
    desk.peek.hset("k", holder, 1)
    desk.peek.pexpire("k", 5000)
    for owner in (reads(2), writes(2)):
        with pytest.raises(StoreMisconfigured, match=f"in use as a {kind}, "):
            desk.ask(owner, waits=True)
        assert not desk.release(owner) and not desk.withdraw(owner)
        assert not desk.renew(owner) and not desk.downgrade(owner)
    with pytest.raises(StoreMisconfigured, match=f"in use as a {kind}, "):
        desk.look()
    assert desk.fields() == {holder: "1"}
    assert desk.left() == 5
    assert desk.queue() == []


def test_a_hash_of_another_program_is_refused_and_untouched(desk: Desk) -> None:
    desk.peek.hset("k", mapping={"mode": "dark", "a:b": "3"})
    for owner in (reads(1), writes(1)):
        with pytest.raises(StoreMisconfigured):
            desk.ask(owner)
        assert not desk.withdraw(owner)
    with pytest.raises(StoreMisconfigured):
        desk.look()
    assert desk.fields() == {"mode": "dark", "a:b": "3"}
    assert desk.left() == 0  # it has no end


def test_nobody_is_let_into_what_is_something_else_by_now(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1) as subscriber:
        desk.waits(reads(2), reads(3))
        desk.peek.delete("k")
        desk.peek.hset("k", javas(), 1)  # the lock of Java's
        assert not desk.withdraw(reads(2)) and not desk.release(writes(1))
        assert (desk.fields(), subscriber.heard()) == ({javas(): "1"}, [])
        assert desk.queue() == [reads(3)]


def test_a_string_is_refused_and_untouched(desk: Desk) -> None:
    desk.peek.set("k", "somebody")
    for owner in (reads(1), writes(1)):
        with pytest.raises(StoreMisconfigured, match="another kind of key"):
            desk.ask(owner)
        assert not desk.release(owner) and not desk.withdraw(owner)
        assert not desk.renew(owner) and not desk.downgrade(owner)
    assert desk.peek.get("k") == "somebody"


def test_a_plain_lock_is_refused_where_somebody_reads(desk: Desk) -> None:
    desk.ask(reads(1))
    with pytest.raises(StoreMisconfigured, match="in use as a rwlock"):
        desk.run(RedisLocks("here").attempt("k", reads(2)[:-1] + "1", LEASE, True, now() + 10))
    assert desk.holders() == [reads(1)]


@pytest.mark.parametrize("waiter", [reads(2), writes(2)])
def test_a_waiter_that_is_handed_what_became_a_lock_meanwhile_gets_it_all_the_same(
    desk: Desk, waiter: str
) -> None:
    """Whoever asks for a plain lock lets those in who came before, as plain owners."""
    desk.ask(writes(1))
    with desk.subscribed(1):
        desk.waits(waiter)
        desk.peek.delete("k")  # the lease of the writer ends
        with pytest.raises(StoreMisconfigured, match="in use as a rwlock"):
            desk.run(RedisLocks("here").attempt("k", reads(9)[:-1] + "1", LEASE, True, now() + 10))
        assert desk.fields() == {waiter: "1"}
        assert isinstance(desk.ask(writes(3)), Busy)

        assert desk.gets(waiter)
        assert desk.fields()["mode"] == ("read" if waiter == reads(2) else "write")
        assert isinstance(desk.ask(writes(3)), Busy)
    assert desk.release(waiter)
    assert not desk.peek.exists("k", hold(waiter))
