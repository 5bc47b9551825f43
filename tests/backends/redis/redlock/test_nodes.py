"""Several nodes asked at once, in both worlds: a node that hangs or is dead holds up no other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlock.backends.redis.redlock.link import QuorumLink
from interlock.backends.redis.redlock.url import read_url
from interlock.backends.redis.redlock.votes import Unawaited
from interlock.backends.redis.scripts import Script
from interlock.drive import now
from interlock.errors import OutcomeUnknown, StoreError, StoreUnavailable
from interlock.steps import Call, Enough
from tests.support.redlocks import RedlockServers

pytestmark = pytest.mark.server


def asking(text: str) -> Script:
    """A script that is in no file."""
    import hashlib

    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Script("test", text, sha, (), (), False)


ECHO = asking("return {1, ARGV[1]}")


def enough(count: int) -> Enough:
    return lambda replies: sum(isinstance(reply, list) for reply in replies) >= count


class Asking:
    """A link of one world."""

    def __init__(self, url: str) -> None:
        settings = read_url(url)
        self.link: Any = self._link(settings)

    def _link(self, settings: Any) -> Any:
        return QuorumLink(settings.nodes, settings.label)

    def ask(self, until: Enough, word: str = "x", limit: float = 2.0) -> list[Any]:
        calls = tuple(Call(ECHO, (), (word,), now() + limit, node) for node in range(5))
        replies: list[Any] = self._run(lambda: self.link.ask_nodes(calls, until))
        return replies

    def _run(self, action: Callable[[], Any]) -> Any:
        return action()

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        self._run(self.link.close)


class AsyncAsking(Asking):
    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        super().__init__(url)

    def _link(self, settings: Any) -> Any:
        from interlock.backends.redis.redlock.aio import QuorumAsyncLink

        return QuorumAsyncLink(settings.nodes, settings.label)

    def _run(self, action: Callable[[], Any]) -> Any:
        async def awaited() -> Any:
            return await action()

        return self._loop.run_until_complete(awaited())

    def rest(self, seconds: float) -> None:
        self._loop.run_until_complete(asyncio.sleep(seconds))

    def close(self) -> None:
        super().close()
        self._loop.close()


@pytest.fixture(params=[Asking, AsyncAsking])
def asked(request: pytest.FixtureRequest, own_redlock: RedlockServers) -> Iterator[Asking]:
    asked: Asking = request.param(own_redlock.url())
    yield asked
    asked.close()


def answers(replies: list[Any]) -> list[Any]:
    return [reply for reply in replies if not isinstance(reply, StoreError)]


def test_all_nodes_answer(asked: Asking) -> None:
    assert asked.ask(enough(5)) == [[1, b"x"]] * 5


def test_a_reply_that_was_not_awaited_is_never_taken_for_another(asked: Asking) -> None:
    asked.ask(enough(5))
    for number in range(200):
        word = str(number)
        replies = asked.ask(enough(1 + number % 5), word)
        assert {tuple(reply) for reply in answers(replies)} == {(1, word.encode())}
        assert all(isinstance(reply, list | Unawaited) for reply in replies)


def test_what_is_enough_at_once_is_sent_all_the_same(
    asked: Asking, own_redlock: RedlockServers
) -> None:
    asked.ask(enough(5))
    write = asking("redis.call('SET', 'sent', 1) return {1}")
    calls = tuple(Call(write, (), (), now() + 2, node) for node in range(5))

    replies = asked._run(lambda: asked.link.ask_nodes(calls, lambda replies: True))

    assert all(isinstance(reply, Unawaited) for reply in replies)
    asked.ask(enough(5))  # and read behind it
    asked.ask(enough(5))
    assert all(client.get("sent") == b"1" for client in own_redlock.clients)


def test_a_node_that_hangs_costs_nothing(asked: Asking, own_redlock: RedlockServers) -> None:
    asked.ask(enough(5))
    own_redlock[2].pause()

    began = time.monotonic()
    for number in range(50):
        assert len(answers(asked.ask(enough(4), str(number)))) == 4
    assert time.monotonic() - began < 1.0

    own_redlock[2].resume()
    assert len(answers(asked.ask(enough(5), "again"))) == 5


def test_a_node_that_hangs_before_it_is_met_costs_a_moment_once(
    asked: Asking, own_redlock: RedlockServers
) -> None:
    own_redlock[0].pause()

    began = time.monotonic()
    for number in range(50):
        assert len(answers(asked.ask(enough(3), str(number)))) >= 3
    assert time.monotonic() - began < 1.5


def test_dead_nodes_are_named_at_once(asked: Asking, own_redlock: RedlockServers) -> None:
    for number in (1, 3):
        own_redlock[number].kill()

    began = time.monotonic()
    replies = asked.ask(enough(5))

    assert time.monotonic() - began < 1.0
    assert len(answers(replies)) == 3
    assert all(isinstance(replies[number], StoreUnavailable) for number in (1, 3))
    assert str(own_redlock[1].port) in str(replies[1])


def test_a_node_that_comes_back_is_asked_again(asked: Asking, own_redlock: RedlockServers) -> None:
    asked.ask(enough(5))
    own_redlock[4].kill()
    asked.ask(enough(4))
    own_redlock[4].start()

    deadline = time.monotonic() + 10
    while len(answers(asked.ask(enough(5)))) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_connection_that_ended_while_it_was_idle_is_opened_at_once(
    asked: Asking, own_redlock: RedlockServers
) -> None:
    asked.ask(enough(5))
    for number in range(5):
        own_redlock[number].kill()
        own_redlock[number].start()
    asked.rest(0.2)

    assert len(answers(asked.ask(enough(5)))) == 5


def test_an_answer_that_comes_too_late_is_none(asked: Asking, own_redlock: RedlockServers) -> None:
    asked.ask(enough(5))
    for number in range(5):
        own_redlock[number].pause()

    began = time.monotonic()
    replies = asked.ask(enough(3), limit=0.2)

    assert 0.15 < time.monotonic() - began < 1.5
    assert all(isinstance(reply, OutcomeUnknown) for reply in replies)
    for number in range(5):
        own_redlock[number].resume()
    assert answers(asked.ask(enough(5), "fresh")) == [[1, b"fresh"]] * 5
