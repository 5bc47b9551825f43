"""Leases: each is a permit that somebody has, or is about to have.

Theory of operation.  Whoever wants permits first stands in line, in the directory `locks`; the
first of the line makes its leases in `leases`, and has them once there are no more leases than
permits.  Until then it stays the first: were two to wait with a lease too many each, they would
wait for each other.  As soon as it has them it leaves the line, without awaiting that.

A lease counts from the list that was made behind it, so that nobody is let in too many whatever
becomes of the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import StoreUnavailable
from ...steps import Call, Steps, together
from . import names
from .folder import VANISHED, Spot, Standing, ask, find, leave, parents, survivors, unknown
from .kinds import LEASES, LOCKS
from .nodes import Node, Nodes, made
from .wire import Answer, Ask, Children, Create, Delete, No, Sync


class Claim(NamedTuple):
    """Who wants permits of which name."""

    name: str
    path: str
    owner: str

    @property
    def line(self) -> Spot:
        return Spot(self.name, f"{self.path}/{LOCKS}", self.owner, names.LOCK)

    @property
    def leases(self) -> Spot:
        return Spot(self.name, f"{self.path}/{LEASES}", self.owner, names.LEASE)


def take(
    nodes: Nodes, spot: Spot, weight: int, until: float, reads: Sequence[Ask]
) -> Steps[Standing]:
    """Make as many leases as are wanted; the first of `reads` lists them.

    One round trip; one more if the directory is new, three more after a lost answer.
    """
    have: list[Node] = []
    if nodes.asked(spot.owner, spot.folder):
        have = yield from survivors(spot, weight, until)
    nodes.asking(spot.owner, spot.folder)
    above: list[Ask] = []
    for _ in range(VANISHED):
        creates = [Create(f"{spot.folder}/{names.prefix_of(spot.owner)}{spot.mark}")] * (
            weight - len(have)
        )
        answers = yield from ask(spot.name, [*above, *creates, *reads], until)
        answers = answers[len(above) :]
        have += _made(spot, answers[: len(creates)])
        if len(have) == weight:
            return _noted(nodes, spot, have, answers[len(creates) :])
        above = parents(spot.folder)
    raise StoreUnavailable(f"the directory of {spot.name!r} keeps vanishing: {spot.folder}")


def _made(spot: Spot, created: Sequence[Answer]) -> list[Node]:
    new = [made(each) for each in created if each.value is not No.MISSING]
    if None in new:
        raise unknown(spot)
    return [node for node in new if node is not None]


def _noted(nodes: Nodes, spot: Spot, have: list[Node], read: Sequence[Answer]) -> Standing:
    *beside, last = have
    last.beside, last.doubted = tuple(beside), any(node.doubted for node in have)
    listed, *others = read
    if not lists(listed, last):
        raise unknown(spot)
    nodes.note(spot.owner, spot.folder, last)
    return Standing(last, listed.value, beside=others)


def lists(listed: Answer, node: Node) -> bool:
    """Whether a list, of the same session, has all the leases of an owner."""
    if listed.value is No.MISSING:
        return False
    every = node.together
    alive = all(each.session == listed.session for each in every)
    return alive and {each.name for each in every} <= {*listed.value}


def step_aside(nodes: Nodes, claim: Claim, until: float) -> Steps[None]:
    """Let the next one in line ask.  No round trip: nobody awaits the answer."""
    node = nodes.get(claim.owner, claim.line.folder)
    if node is None:
        return
    if node.doubted:
        yield from leave(nodes, claim.line, until)
        return
    yield from together([Call(Delete(node.path, awaited=False), (), (), until)])
    nodes.forget(claim.owner, claim.line.folder)


def leave_both(nodes: Nodes, claim: Claim, until: float) -> Steps[bool]:
    """Give leases and place back; False when a lease was gone, or there was none.

    One round trip if we know them, two if they have to be looked for.
    """
    for spot in (claim.leases, claim.line):
        _leaving(nodes.get(claim.owner, spot.folder))
    leases, line = yield from _ours(nodes, claim, until)
    answers: list[Answer] = []
    if leases or line:
        answers = yield from ask(claim.name, [Delete(path) for path in (*leases, *line)], until)
    for spot in (claim.leases, claim.line):
        nodes.forget(claim.owner, spot.folder)
    given = [answer.value is not No.MISSING for answer in answers[: len(leases)]]
    return bool(given) and all(given)


def _leaving(node: Node | None) -> None:
    for each in node.together if node is not None else ():
        each.left = True


def _ours(nodes: Nodes, claim: Claim, until: float) -> Steps[list[list[str]]]:
    """The paths of our leases, and of our place; of another client's owner, or after a lost
    answer, they have to be looked for."""
    spots = (claim.leases, claim.line)
    stranger = not any(nodes.asked(claim.owner, spot.folder) for spot in spots)
    unsure = [spot for spot in spots if stranger or _unsure(nodes, spot)]
    found: dict[str, list[str]] = {}
    if unsure:
        reads: list[Ask] = [Children(spot.folder) for spot in unsure]
        _, *listed = yield from ask(claim.name, [Sync(claim.path), *reads], until)
        found = {
            spot.folder: _paths(spot, each) for spot, each in zip(unsure, listed, strict=True)
        }
    return [found.get(spot.folder, _known(nodes, spot)) for spot in spots]


def _unsure(nodes: Nodes, spot: Spot) -> bool:
    node = nodes.get(spot.owner, spot.folder)
    return nodes.asked(spot.owner, spot.folder) and (node is None or node.doubted)


def _known(nodes: Nodes, spot: Spot) -> list[str]:
    node = nodes.get(spot.owner, spot.folder)
    return [] if node is None else [each.path for each in node.together]


def _paths(spot: Spot, listed: Answer) -> list[str]:
    return [f"{spot.folder}/{each}" for each in find(listed.value, spot)]
