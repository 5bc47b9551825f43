"""`fence.compare_and_set`: stores that write only if a version is still the same."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StaleToken, StoreUnavailable, UsageError

from .conftest import Fencing


class Bucket:
    """One object of an S3-like store; each write makes another version of it.

    Each of the `rivals` writes with its token between a read and the write that follows.
    """

    def __init__(self, awaited: bool, rivals: tuple[int, ...] = ()) -> None:
        self.token: int | None = None
        self.version, self.data = 0, ""
        self.reads, self._rivals = 0, list(rivals)
        self.read: Any = self.aread if awaited else self.read_now
        self._awaited = awaited

    def read_now(self) -> tuple[int | None, int]:
        self.reads += 1
        return self.token, self.version

    async def aread(self) -> tuple[int | None, int]:
        return self.read_now()

    def writing(self, data: str) -> Any:
        def write(token: int, version: int) -> bool:
            if self._rivals:
                self.version, self.token = self.version + 1, self._rivals.pop()
            if version != self.version:
                return False
            self.version, self.token, self.data = version + 1, token, data
            return True

        async def awrite(token: int, version: int) -> bool:
            return write(token, version)

        return awrite if self._awaited else write


@pytest.fixture
def awaited(fencing: Fencing) -> bool:
    return fencing.world.name == "tasks"


def put(fencing: Fencing, bucket: Bucket, token: int, data: str, **options: int) -> None:
    fencing("compare_and_set", "orders:42", token, bucket.read, bucket.writing(data), **options)


def test_tokens_pass_in_order_and_an_equal_one_again(fencing: Fencing, awaited: bool) -> None:
    bucket = Bucket(awaited)

    for token, data in ((5, "a"), (5, "b"), (7, "c")):
        put(fencing, bucket, token, data)
        assert (bucket.token, bucket.data) == (token, data)


def test_stale_token_is_refused_and_not_written(fencing: Fencing, awaited: bool) -> None:
    bucket = Bucket(awaited)
    put(fencing, bucket, 7, "new")

    with pytest.raises(StaleToken) as refusal:
        put(fencing, bucket, 6, "old")

    assert (refusal.value.newest, bucket.data, bucket.version) == (7, "new", 1)


def test_conflict_is_read_again(fencing: Fencing, awaited: bool) -> None:
    bucket = Bucket(awaited, rivals=(4,))

    put(fencing, bucket, 5, "mine")

    assert (bucket.data, bucket.reads) == ("mine", 2)


def test_newer_token_in_between_is_seen(fencing: Fencing, awaited: bool) -> None:
    bucket = Bucket(awaited, rivals=(6,))

    with pytest.raises(StaleToken):
        put(fencing, bucket, 5, "mine")

    assert (bucket.token, bucket.data, bucket.reads) == (6, "", 2)


def test_conflicts_without_end_are_told(fencing: Fencing, awaited: bool) -> None:
    bucket = Bucket(awaited, rivals=(1,) * 8)

    with pytest.raises(StoreUnavailable, match="at each of 3 tries"):
        put(fencing, bucket, 5, "mine", tries=3)

    assert bucket.reads == 3


def test_what_a_hook_raises_goes_through(fencing: Fencing, awaited: bool) -> None:
    bucket = Bucket(awaited)

    def fail() -> Any:
        raise ConnectionResetError

    async def afail() -> Any:
        fail()

    with pytest.raises(ConnectionResetError):
        fencing(
            "compare_and_set", "orders:42", 5, afail if awaited else fail, bucket.writing("mine")
        )


def test_wrong_arguments_are_named(fencing: Fencing, awaited: bool) -> None:
    bucket = Bucket(awaited)
    with pytest.raises(UsageError, match="tries must be between 1"):
        put(fencing, bucket, 5, "mine", tries=0)
    bucket.token = "7"  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"the token that read\(\) answers must be"):
        put(fencing, bucket, 8, "mine")
