"""A backend whose traffic a claim can count, and cut off."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, cast

from ...drive import now
from ...errors import OutcomeUnknown, StoreUnavailable
from ...spi import AsyncLink, Backend, Link
from ...steps import Call, Enough
from ...tasks import TaskParking

#: Seconds that a link waits for an answer, however long it would be worth having.
LONGEST = 5.0

#: Seconds between two looks at whether the silence has ended.
MOMENT = 0.01


class Traffic:
    """What one client has asked of its store."""

    def __init__(self) -> None:
        self.requests: list[Call] = []
        #: What it asked each time that it went to the store.
        self.journeys: list[tuple[Call, ...]] = []
        #: While this is set, nothing that the client asks reaches the store.
        self.cut = False
        #: The same, but the client is not told: it waits for an answer in vain.
        self.silent = False
        #: How often it tried in vain.
        self.refused = 0
        #: Names: of each the next answer will be lost on its way back.
        self.losing: list[str] = []
        #: While this is set, the client begins to listen in vain: no wake ever arrives.
        self.deaf = False

    def note(self, *requests: Call) -> None:
        if self.cut:
            self.refused += 1
            raise StoreUnavailable("cut off by the claim")
        self.journeys.append(requests)
        self.requests += requests

    def loses(self, *requests: Call) -> bool:
        """Whether the answers to these requests are to be lost; each time they are lost once."""
        names = [name for request in requests for name in request.keys[:1] if name in self.losing]
        if names:
            self.losing.remove(names[0])
        return bool(names)

    @property
    def trips(self) -> int:
        """How often it went to the store, whatever it asked on the way."""
        return len(self.journeys)

    def trips_for(self, names: Collection[str]) -> list[tuple[Call, ...]]:
        """What it asked each time that it went there for one of these locks; the keeper may go
        there for reasons of its own."""
        return [
            trip
            for trip in self.journeys
            if any(key in names for each in trip for key in each.keys[:1])
        ]

    def about(self, name: str) -> int:
        """How often it went to the store because of one lock alone."""
        return sum(all(each.keys[:1] == (name,) for each in trip) for trip in self.journeys)


class WatchedLink:
    """A link of either world: what it answers, awaitable or not, is passed on."""

    def __init__(self, link: Any, traffic: Traffic) -> None:
        self._link, self._traffic = link, traffic

    def call(self, request: Call) -> Any:
        self._traffic.note(request)
        if self._traffic.silent:
            return self._unanswered(request.until)
        answer = self._link.call(request)
        if not self._traffic.loses(request):
            return answer
        return _lost(answer) if inspect.isawaitable(answer) else _drop()

    def together(self, requests: tuple[Call, ...]) -> Any:
        return self._together(requests, self._link.together)

    def begin(self, requests: tuple[Call, ...]) -> Any:
        """What a claim spoils is asked by waiting for it, where the link is a thread's."""
        if inspect.iscoroutinefunction(self._link.listen):
            return TaskParking.begin(self, requests)
        names = {name for request in requests for name in request.keys[:1]}
        spoiled = self._traffic.silent or self._traffic.cut or names & {*self._traffic.losing}
        flight = None if spoiled else self._link.begin(requests)
        if flight is not None:
            self._traffic.note(*requests)
        return flight

    def ask_nodes(self, requests: tuple[Call, ...], enough: Enough) -> Any:
        return self._together(requests, lambda requests: self._link.ask_nodes(requests, enough))

    def _together(self, requests: tuple[Call, ...], ask: Callable[[Any], Any]) -> Any:
        self._traffic.note(*requests)
        if self._traffic.silent:
            return self._unanswered(min(request.until for request in requests))
        answers = ask(requests)
        if not self._traffic.loses(*requests):
            return answers
        return _all_lost(answers) if inspect.isawaitable(answers) else _dropped(answers)

    def _unanswered(self, until: float) -> Any:
        """Wait for an answer in vain, as long as a link would, or until the silence ends."""
        limit = min(until, now() + LONGEST)
        waited = self._link.park(None, now())
        if inspect.isawaitable(waited):
            return self._await_nothing(waited, limit)
        while self._traffic.silent and now() < limit:
            self._link.park(None, min(limit, now() + MOMENT))
        return _drop()

    async def _await_nothing(self, waited: Any, limit: float) -> Any:
        await waited
        while self._traffic.silent and now() < limit:
            await self._link.park(None, min(limit, now() + MOMENT))
        return _drop()

    def listen(self, topics: tuple[Any, ...], until: float) -> Any:
        if not self._traffic.deaf and not self._traffic.silent:
            return self._link.listen(topics, until)
        silence = self._link.local()  # no store knows of it
        return _awaited(silence) if inspect.iscoroutinefunction(self._link.listen) else silence

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)


async def _lost(answer: Any) -> Any:
    await answer
    _drop()


def _drop() -> Any:
    raise OutcomeUnknown("the claim has lost the answer")


async def _all_lost(answers: Any) -> Any:
    return _dropped(await answers)


def _dropped(answers: Any) -> Any:
    return [OutcomeUnknown("the claim has lost the answer") for _ in answers]


async def _awaited(value: Any) -> Any:
    return value


class WatchedBackend:
    """A backend that makes watched links: see `spi.Backend`."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self.traffic = backend, Traffic()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def link(self) -> Link:
        return cast("Link", WatchedLink(self._backend.link(), self.traffic))

    def alink(self) -> AsyncLink:
        return cast("AsyncLink", WatchedLink(self._backend.alink(), self.traffic))
