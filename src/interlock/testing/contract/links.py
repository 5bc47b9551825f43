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
        #: How often it went to the store, whatever it asked on the way.
        self.trips = 0
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
        self.trips += 1
        self.requests += requests

    def loses(self, request: Call) -> bool:
        """Whether the answer to a request is to be lost; each is lost once."""
        lost = request.keys[:1] and request.keys[0] in self.losing
        if lost:
            self.losing.remove(request.keys[0])
        return bool(lost)

    def about(self, name: str) -> int:
        """How many requests were about one lock alone."""
        return sum(1 for request in self.requests if request.keys[:1] == (name,))


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
        return self._link.together(requests)

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
