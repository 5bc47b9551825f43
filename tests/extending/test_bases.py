"""What the author of a backend need not write."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import interlock
from interlock import aio
from interlock.backends.memory import MemoryBackend
from interlock.drive import now, run
from interlock.errors import Unsupported
from interlock.links import CallBackend
from interlock.model import KIND_CODES, Busy, LockInfo, kind_of_owner, validity
from interlock.spi import Backend, BaseDirectory, BaseLockStore, Directory, LockStore
from interlock.steps import Call, Steps, answered


class Five(BaseLockStore):
    """The five methods, and nothing else."""

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        return answered(1)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return answered(True)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return answered(True)

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[list[bool]]:
        return answered([True for _ in holds])

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        return answered(None)


class Nothing(CallBackend):
    """A backend that offers nothing at all."""

    def perform(self, request: Call) -> Any:
        raise AssertionError("never called")


class Little(Nothing):
    """A backend that offers locks, and grants each question."""

    def __init__(self) -> None:
        super().__init__("little://")
        self.locks = Five("lock")


def test_bases_are_what_the_kernel_calls() -> None:
    store: LockStore = Five("lock")
    directory: Directory = BaseDirectory("little://")
    backend: Backend = Little()

    assert (store.kind, directory.__class__, backend.label) == ("lock", BaseDirectory, "little://")


def test_five_methods_are_left_to_write() -> None:
    wanted = {"attempt", "release", "withdraw", "renew", "look"}

    assert BaseLockStore.__abstractmethods__ == wanted


#: What `BaseLockStore` says of itself, and the built-in stores as well.
FACTS = ("kind", "kind_code", "reentrant", "shared", "own_places", "takes_turns", "leases_expire")


@pytest.mark.parametrize("where", ["locks", "mutexes", "fair_locks", "fenced_locks", "writers"])
def test_the_defaults_are_those_of_the_memory_store(where: str) -> None:
    built_in: Any = getattr(MemoryBackend("", now), where)
    mode = "write" if where == "writers" else ""
    store = Five(built_in.kind, mode)

    assert {fact: getattr(store, fact) for fact in FACTS} == {
        fact: getattr(built_in, fact) for fact in FACTS
    }
    busy = Busy("owner", 1.0)
    assert store.topics("name", "owner", busy) == built_in.topics("name", "owner", busy)
    assert store.for_wait(1.0) is store
    assert store.effective_lease(7.0) == built_in.effective_lease(7.0) == 7.0
    assert store.valid_until(5.0, 7.0) == built_in.valid_until(5.0, 7.0) == validity(5.0, 7.0)


def test_a_store_that_keeps_no_reasons_says_so_without_asking() -> None:
    link = Little().link()

    assert run(Five("lock").withdrawal_reason("name", "owner", 1.0), link) == ""


def test_a_kind_that_is_not_known_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'loch' is not a kind of lock; known are lock, mutex"):
        Five("loch")
    for kind in KIND_CODES:
        assert Five("rwlock" if kind in ("read", "write") else kind, kind)


@pytest.mark.parametrize("number", [1, 9, 10, 90, 100, 12345])
def test_the_end_of_an_owner_tells_its_kind(number: int) -> None:
    for kind, code in KIND_CODES.items():
        assert kind_of_owner(f"identity:{number}{code}") == kind
    assert len(set(KIND_CODES.values())) == len(KIND_CODES)
    assert all(re.fullmatch("[1-9]0*", code) for code in KIND_CODES.values())


def test_five_methods_are_enough_for_a_client() -> None:
    async def tasks() -> None:
        async with aio.connect(Little()) as client, client.lock("orders", lease=0.1) as hold:
            await asyncio.sleep(0.2)
            assert not hold.lost

    with interlock.connect(Little()) as client, client.lock("orders") as hold:
        assert hold.token == 1
        with pytest.raises(Unsupported, match=r"little:// cannot list or inspect names; memory:"):
            client.inspect("orders")
    asyncio.run(tasks())


#: What asks for each primitive.
ASKING: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("x").acquire(),
    "mutex": lambda client: client.mutex("x").acquire(),
    "fair_lock": lambda client: client.fair_lock("x").acquire(),
    "fenced_lock": lambda client: client.fenced_lock("x").acquire(),
    "rwlock": lambda client: client.rwlock("x").write().acquire(),
    "semaphore": lambda client: client.semaphore("x", permits=1).acquire(),
    "leased_semaphore": lambda client: client.leased_semaphore("x", permits=1).acquire(),
    "latch": lambda client: client.latch("x").wait(),
}


@pytest.mark.parametrize("primitive", ASKING)
def test_what_a_backend_does_not_offer_names_stores_that_do(primitive: str) -> None:
    async def tasks() -> None:
        async with aio.connect(Nothing("nothing://")) as client:
            await ASKING[primitive](client)

    words = rf"^nothing:// has no {primitive}\(\); memory://, SQLite, Redis and ZooKeeper have$"
    with (
        interlock.connect(Nothing("nothing://")) as client,
        pytest.raises(Unsupported, match=words),
    ):
        ASKING[primitive](client)
    with pytest.raises(Unsupported, match=words):
        asyncio.run(tasks())


@pytest.mark.parametrize("primitive", ASKING)
def test_the_stores_that_are_named_do_offer_it(primitive: str) -> None:
    with interlock.connect(f"memory://{uuid.uuid4()}") as client:
        assert ASKING[primitive](client)


def test_a_directory_that_knows_its_names_knows_what_each_is() -> None:
    class Known(BaseDirectory):
        def names(self, until: float) -> Steps[list[tuple[str, str]]]:
            return answered([("orders", "lock")])

    link, directory = Little().link(), Known("little://")

    assert run(directory.kind_of("orders", 1.0), link) == "lock"
    assert run(directory.kind_of("stock", 1.0), link) is None
