"""Who wants to hear what becomes of which nodes, and who waits where."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class Place(Protocol):
    """Where somebody waits; it may be told so from any thread."""

    def wake(self) -> None: ...


class Watches:
    """The topics of each path, and the places of each topic; used by several threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._topics: dict[str, set[Any]] = {}
        self._paths: dict[Any, set[str]] = {}
        self._places: dict[Any, set[Place]] = {}

    def watch(self, path: str, topic: Any) -> None:
        """What becomes of a node is to be heard under a topic."""
        with self._mutex:
            self._topics.setdefault(path, set()).add(topic)
            self._paths.setdefault(topic, set()).add(path)

    def unwatch(self, path: str, topic: Any) -> None:
        """There is no such node, so nothing will become of it."""
        with self._mutex:
            self._drop(path, topic)

    def _drop(self, path: str, topic: Any) -> None:
        for index, key, value in ((self._topics, path, topic), (self._paths, topic, path)):
            values = index.get(key)
            if values is not None:
                values.discard(value)
                if not values:
                    del index[key]

    def fired(self, path: str) -> list[Any]:
        """Something became of a node: whoever wants to know must ask again after this."""
        with self._mutex:
            topics = list(self._topics.get(path, ()))
            for topic in topics:
                self._drop(path, topic)
            return topics

    def clear(self) -> set[Any]:
        """Nothing is watched any more; answers what was."""
        with self._mutex:
            topics, self._topics, self._paths = {*self._paths}, {}, {}
            return topics

    def listen(self, topic: Any, place: Place) -> None:
        with self._mutex:
            self._places.setdefault(topic, set()).add(place)

    def leave(self, topic: Any, place: Place) -> None:
        """Nobody waits there any more; what the last one wanted to hear is forgotten."""
        with self._mutex:
            places = self._places.get(topic, set())
            places.discard(place)
            if not places:
                self._places.pop(topic, None)
                for path in list(self._paths.get(topic, ())):
                    self._drop(path, topic)

    def places(self, topic: Any) -> list[Place]:
        with self._mutex:
            return list(self._places.get(topic, ()))

    def every_place(self) -> list[Place]:
        with self._mutex:
            return [place for each in self._places.values() for place in each]
