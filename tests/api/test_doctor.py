"""What a client tells of its store, whichever it is, and what it makes of a backend's findings."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

import interlock
from interlock import Finding, StoreUnavailable, aio
from interlock.backends.memory import MemoryBackend
from interlock.drive import now
from interlock.links import CallBackend
from interlock.steps import Call, Steps, answered
from tests.support.eventually import eventually
from tests.support.worlds import WORLDS

BAD = Finding("bad", "serious", "node 1", "node 1 is bad", "mend it")
POOR = Finding("poor", "warning", "node 2", "node 2 is poor", "mend it")
DARK = Finding("dark", "info", "node 3", "node 3 was not looked at", "let us in")


class Examined(MemoryBackend):
    """A store with something to say."""

    def __init__(self, *found: Finding, failure: Exception | None = None) -> None:
        super().__init__(f"doctor-{id(self)}", now)
        self.found, self.failure, self.looks = found, failure, list[bool]()

    def examine(self, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
        self.looks.append(thorough)
        if self.failure is not None:
            raise self.failure
        return answered(self.found)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage() for line in caplog.records if line.name == "interlock.connect"]


def use(backend: Any) -> None:
    """Take locks in both worlds, until each client has introduced itself."""
    for make in WORLDS.values():
        world = make()
        client = world.connect(backend)
        looks = len(backend.looks)
        hold = world.do(client.lock("a").acquire)
        eventually(lambda looks=looks: len(backend.looks) > looks)  # type: ignore[misc]
        world.do(client.lock("b").acquire)
        world.do(hold.release)
        world.close()


def test_the_worst_comes_first() -> None:
    backend = Examined(DARK, POOR, BAD)

    async def ask() -> tuple[Finding, ...]:
        async with aio.connect(backend) as client:
            return await client.doctor()

    with interlock.connect(backend) as client:
        assert client.doctor() == asyncio.run(ask()) == (BAD, POOR, DARK)
    assert backend.looks == [True, True]


def test_what_is_serious_is_logged_once_by_each_client(caplog: pytest.LogCaptureFixture) -> None:
    backend = Examined(BAD, POOR, DARK)
    use(backend)

    assert lines(caplog) == ["node 1 is bad; mend it"] * 2
    assert backend.looks == [False, False]


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), RuntimeError("a mistake")])
def test_a_look_that_fails_disturbs_nothing(
    caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    use(Examined(BAD, failure=failure))

    assert lines(caplog) == []


def test_a_client_that_only_asks_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with interlock.connect(Examined(BAD)) as client:
        assert client.doctor() == (BAD,)
    assert lines(caplog) == []


def test_a_forked_child_does_not_say_it_again() -> None:
    backend = Examined(BAD)
    with interlock.connect(backend) as client:
        hold = client.lock("a").acquire()
        eventually(lambda: client._session._checkup._made)
        hold.release()
        if (child := os.fork()) == 0:
            with client.lock("a"):
                eventually(lambda: client._session.keeper.running())
            os._exit(len(backend.looks))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


class Plain(CallBackend):
    """A backend of another author that knows nothing of all this."""

    def perform(self, request: Call) -> Any:
        raise AssertionError("never called")


def test_a_store_that_has_nothing_to_say_finds_nothing() -> None:
    for backend in (MemoryBackend("doctor", now), Plain("plain://")):
        with interlock.connect(backend) as client:
            assert client.doctor() == ()


def test_a_finding_is_a_plain_value() -> None:
    assert str(BAD) == "node 1 is bad; mend it"
    assert pickle.loads(pickle.dumps(BAD)) == BAD
    assert len({BAD, BAD, POOR}) == 2
