"""A backend whose traffic a claim can count, and cut off."""

from __future__ import annotations

import inspect
from typing import Any, cast

from ...errors import OutcomeUnknown, StoreUnavailable
from ...steps import Call
from ...stores import AsyncLink, Backend, Link


class Watch:
    """What one client has asked of its store."""

    def __init__(self) -> None:
        self.requests: list[Call] = []
        #: What it asked each time that it went to the store.
        self.journeys: list[tuple[Call, ...]] = []
        #: While this is set, nothing that the client asks reaches the store.
        self.cut = False
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

    def about(self, name: str) -> int:
        """How often it went to the store because of one lock alone."""
        return sum(all(each.keys[:1] == (name,) for each in trip) for trip in self.journeys)


class WatchedLink:
    """A link of either world: what it answers, awaitable or not, is passed on."""

    def __init__(self, link: Any, watch: Watch) -> None:
        self._link, self._watch = link, watch

    def call(self, request: Call) -> Any:
        self._watch.note(request)
        answer = self._link.call(request)
        if not self._watch.loses(request):
            return answer
        return _lost(answer) if inspect.isawaitable(answer) else _drop()

    def together(self, requests: tuple[Call, ...]) -> Any:
        self._watch.note(*requests)
        answers = self._link.together(requests)
        if not self._watch.loses(*requests):
            return answers
        return _all_lost(answers) if inspect.isawaitable(answers) else _dropped(answers)

    def listen(self, topics: tuple[Any, ...]) -> Any:
        if not self._watch.deaf:
            return self._link.listen(topics)
        silence = self._link.local()  # nobody knows of it
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
    """A backend that makes watched links: see `stores.Backend`."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self.watch = backend, Watch()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def link(self) -> Link:
        return cast("Link", WatchedLink(self._backend.link(), self.watch))

    def alink(self) -> AsyncLink:
        return cast("AsyncLink", WatchedLink(self._backend.alink(), self.watch))
