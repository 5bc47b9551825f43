"""Names and clients over all nodes: what a majority of them knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ....errors import StoreError
from ....model import Holder
from ....recipes.agreement import majority
from ....spi import BaseDirectory
from ....steps import Call, Steps, at_node, side_by_side, together
from ..directory import REPEATED, RedisDirectory, introduction, person_of
from ..keys import client_key, identity_of, is_ours
from ..scripts import script
from .votes import no_majority


class QuorumDirectory(BaseDirectory):
    """See `spi.Directory`.  Each node is asked what it knows; a name counts where a majority
    knows it, so that votes without a majority are no locks."""

    def __init__(self, nodes: int, label: str) -> None:
        super().__init__(label)
        self._nodes, self._each = nodes, RedisDirectory()

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        calls = [introduction(holder, until)._replace(node=node) for node in self._all]
        replies = yield from together(calls, self._majority_has_answered)
        if not self._majority_has_answered(replies):
            failures = [each for each in replies if isinstance(each, StoreError)]
            raise no_majority(self._nodes, failures, self.label)
        return REPEATED

    def _majority_has_answered(self, replies: Sequence[Any]) -> bool:
        return self._many(sum(isinstance(reply, list) for reply in replies))

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        kinds = yield from self._asked(lambda: self._each.kind_of(name, until))
        return next((kind for kind, times in Counter(kinds).items() if self._many(times)), None)

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        found = yield from self._asked(lambda: self._each.names(until))
        times = Counter(pair for pairs in found for pair in pairs)
        return [pair for pair, known in times.items() if self._many(known)]

    @property
    def _all(self) -> range:
        return range(self._nodes)

    def _many(self, times: int) -> bool:
        return times >= majority(self._nodes)

    def _asked(self, ask: Callable[[], Steps[Any]]) -> Steps[list[Any]]:
        """What the nodes answer, each for itself; a majority has to."""
        outcomes = yield from side_by_side(*(at_node(node, ask()) for node in self._all))
        failures = [each for each in outcomes if isinstance(each, BaseException)]
        for failure in failures:
            if not isinstance(failure, StoreError):
                raise failure
        answers = [each for each in outcomes if not isinstance(each, BaseException)]
        if not self._many(len(answers)):
            missed = [each for each in failures if isinstance(each, StoreError)]
            raise no_majority(self._nodes, missed, self.label)
        return answers


def describe(holders: Sequence[Holder], nodes: int, until: float) -> Steps[tuple[Holder, ...]]:
    """Add what the clients of holders have told some node.  One round trip, or none."""
    identities = sorted({identity_of(each.owner) for each in holders if is_ours(each.owner)})
    if not identities:
        return tuple(holders)
    calls = [
        Call(script("client_describe"), (client_key(identity),), (), until, node)
        for identity in identities
        for node in range(nodes)
    ]

    def all_described(replies: Sequence[Any]) -> bool:
        starts = range(0, len(replies), nodes)
        return all(any(map(_described, replies[at : at + nodes])) for at in starts)

    replies = yield from together(calls, all_described)
    people: dict[str, dict[str, Any]] = {}
    for at, reply in enumerate(replies):
        if _described(reply):
            people[identities[at // nodes]] = person_of(reply)
    return tuple(replace(each, **people.get(identity_of(each.owner), {})) for each in holders)


def _described(reply: Any) -> bool:
    return isinstance(reply, list) and reply[0] == 1
