"""What becomes of calls that a node of a cluster refused: the steps that both links run.

A node that refuses has executed nothing, so its refusal is never an answer of the store and
never an unknown outcome: the call is asked again, elsewhere or later, for as long as its answer
is worth waiting for.

MOVED        another node serves the slot: it is written down, and asked at once
ASK          the slot is on its way there: that node is asked this once, whatever it thinks
TRYAGAIN     the keys of the call lie on two nodes while the slot moves: after a pause
CLUSTERDOWN  a primary has died: after a pause, when a replica may have been promoted
unreached    the node is gone: the others are asked for the map

A node that does not answer at all leaves the outcome unknown, and that is raised; but it is
suspect from then on, and before it is asked again the others are asked for the map.  So is one
whose replicas do not confirm what it grants: it may have been replaced, or they have failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from ....drive import now
from ....errors import (
    OutcomeUnknown,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    internal,
)
from ....steps import Call, Reply, Steps, listen, park, together
from ..confirmation import Unconfirmed
from ..errors import Redirected, Refused, Unreached
from .slot_map import CLUSTER_MAP, Address, Destination, SlotMap, SlotWakes

#: The first pause before asking again, and the longest.
SHORTEST, LONGEST = 0.005, 0.1

#: Seconds that a call must have left to be asked again: one that is refused is known not to be
#: executed, and one that is not answered in time is not.
LEAST = 0.1

#: How often a call follows a redirection without a pause.
HOPS = 3

#: Seconds that one node may take to tell its map, when there are others.
TELLING = 0.5

#: Seconds for which a map is good enough, though a slot has moved since.
MAP_AGE = 1.0

#: Answered by the link itself: the nodes that serve slots.
PRIMARIES: Any = "primaries"


@internal
class Unrouted(Refused):
    """It is not known, or not certain, which node serves a slot; nothing was asked."""


def unrouted(call: Call, slots: SlotMap) -> Unrouted:
    """Why a call was not sent yet; raised only if that stays so until its time is up."""
    if not slots.learnt:
        words = f"no node of {slots.label} has told yet which node keeps this name"
    elif (owner := slots.owner_of(call)) is not None:
        words = f"node {owner} of {slots.label} does not answer, and no other keeps this name yet"
    else:
        words = (
            f"no node of {slots.label} serves the slot of this name; see CLUSTER SLOTS, and add it"
        )
    return Unrouted(words, slots.label)


def ask_again(
    calls: Sequence[Call], replies: list[Any], slots: SlotMap, limit: float
) -> Steps[list[Reply]]:
    """Ask again for what was refused, until each call is answered or its time is up.

    `limit` is how many seconds an answer may take, however long it would be worth having.
    """
    latest, pause, hops = now() + limit, SHORTEST, 0
    while refused := [i for i, reply in enumerate(replies) if _again(calls[i], reply, latest)]:
        met = [replies[i] for i in refused]
        worth = min(latest, max(calls[i].until for i in refused))
        failure = yield from _learn(met, slots, worth)
        if failure is not None and isinstance(failure, StoreUnavailable) and now() >= worth:
            return replies  # its own time was up, so what was met before says more
        if failure is not None:
            return [copy(failure) if i in refused else replies[i] for i in range(len(replies))]
        hops += 1
        if hops > HOPS or any(_must_wait(reply) for reply in met):
            yield from park(None, min(now() + pause, worth - LEAST))
            pause = min(pause * 1.5, LONGEST)
        again = [_placed(calls[i], replies[i], slots, latest) for i in refused]
        asked = yield from together(again)
        for i, answer in zip(refused, asked, strict=True):
            replies[i] = answer
    return [_last_word(reply) for reply in replies]


def _last_word(reply: Reply) -> Reply:
    """What a caller is told whose time was up on the way from one node to another."""
    if not isinstance(reply, Redirected):
        return reply
    words = str(reply).partition(" is a node of a cluster")[0]
    return StoreUnavailable(f"{words} is moving this name to another node", reply.store)


def _again(call: Call, reply: Reply, latest: float) -> bool:
    """Whether a call was refused, and there is time to ask again."""
    least = 0.0 if isinstance(reply, Unrouted) else LEAST
    return is_passing(reply) and now() + least < min(call.until, latest)


def is_passing(reply: Reply) -> bool:
    """Whether a node refused for the time being, or was not reached: nothing was executed.

    What was executed, but not confirmed by replicas, is not refused.
    """
    return isinstance(reply, (Refused, Unreached)) and not (reply.final or reply.partial)


def _must_wait(reply: Refused | Unreached) -> bool:
    return not isinstance(reply, (Redirected, Unrouted))


def _placed(call: Call, refused: StoreError, slots: SlotMap, latest: float) -> Call:
    """The call, and whom to ask now; no node where none serves the slot."""
    until = min(call.until, latest)
    if call.node is not None:  # a question for this node, whatever it serves
        return call._replace(node=Destination(call.node), until=until)
    if isinstance(refused, Redirected) and refused.code == "ASK":
        return call._replace(node=Destination(Address(*refused.where), anyway=True), until=until)
    owner = slots.owner_of(call)
    return call._replace(node=None if owner is None else Destination(owner), until=until)


def noted(reply: Reply, asked: Address, slots: SlotMap) -> Reply:
    """Write down what a reply says of the node that was asked."""
    if isinstance(reply, (OutcomeUnknown, Unreached, Unconfirmed)):
        slots.suspect(asked)
        return reply
    slots.trust(asked)
    if isinstance(reply, Redirected):
        where = slots.note(reply, asked)
        reply.where = (where.host, where.port)
    return reply


# --- wakes ---------------------------------------------------------------------------------------


def follow(wakes: SlotWakes, slots: SlotMap, limit: float, until: float) -> Steps[bool]:
    """Listen on the node that serves the slot; False when that is so already."""
    if slots.owner(wakes.slot) is None:
        yield from learn(slots, min(until, now() + limit))
    address = slots.owner(wakes.slot)
    if address is None or address == wakes.address:
        return False
    former, wakes.heard = wakes.heard, (yield from listen((address, *wakes.topics), until))
    wakes.address = address
    if former is not None:
        former.__exit__(None, None, None)
    return True


# --- the map ------------------------------------------------------------------------------------


def _learn(met: list[Any], slots: SlotMap, until: float) -> Steps[StoreError | None]:
    """Ask for the map where what was met says that ours is wrong; answers what went wrong."""
    wrong = [reply for reply in met if not _is_local(reply)]
    moved = [reply for reply in wrong if isinstance(reply, Redirected)]
    if not wrong or (len(moved) == len(wrong) and now() < slots.learnt_at + MAP_AGE):
        return None
    # The node that a slot has moved to knows of it before the others do.
    first = [Address(*reply.where) for reply in moved]
    return (yield from learn(slots, until, first))


def _is_local(reply: Any) -> bool:
    """Whether a refusal says nothing of the map: the slot is just moving."""
    return isinstance(reply, Refused) and reply.code in ("ASK", "TRYAGAIN")


def learn(slots: SlotMap, until: float, first: Sequence[Address] = ()) -> Steps[StoreError | None]:
    """Ask one node after another for the map; answers why none could be had, or None."""
    failure: StoreError | None = None
    candidates = list(dict.fromkeys((*first, *slots.candidates())))
    for address in candidates:
        limit = until if address is candidates[-1] else min(until, now() + TELLING)
        (answer,) = yield from together([Call(CLUSTER_MAP, (), (), limit, Destination(address))])
        if not isinstance(answer, StoreError):
            slots.learn(answer, address)
            return None
        if not isinstance(answer, (StoreUnavailable, OutcomeUnknown)):
            return _refused(answer)
        failure = answer
    return _none_answers(failure, slots)


def _refused(answer: StoreError) -> StoreError:
    """A node answers, but belongs to no cluster, or refuses us; nothing was changed by asking."""
    return StoreMisconfigured(str(answer), answer.store)


def _none_answers(last: StoreError | None, slots: SlotMap) -> StoreError:
    """No node told its map; the last failure stands for all."""
    if last is not None and last.final:
        return last
    return StoreUnavailable(f"no node of {slots.label} can be asked: {last}", slots.label)
