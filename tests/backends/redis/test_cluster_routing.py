"""What becomes of refused calls, driven by hand; and that every call has keys of one slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interlock import OutcomeUnknown, StoreMisconfigured, StoreUnavailable
from interlock.backends.redis.cluster.backend import ClusterBackend
from interlock.backends.redis.cluster.nodes import UrlNodes
from interlock.backends.redis.cluster.routing import LEAST, ask_again, noted, unrouted
from interlock.backends.redis.cluster.slot_map import CLUSTER_MAP, Address, Destination, SlotMap
from interlock.backends.redis.cluster.slots import slot_of
from interlock.backends.redis.cluster.url import read_cluster_url
from interlock.backends.redis.errors import from_reply, not_sent
from interlock.backends.redis.scripts import script
from interlock.drive import now
from interlock.steps import Call, Park, Together

FIRST, SECOND = Address("h", 1), Address("h", 2)
SLOT = slot_of("a")

#: A map in which the first node serves everything.
TOLD = [1, 1, [[0, 16383, [b"h", 1, b"id", []]]]]


@pytest.fixture
def slots() -> SlotMap:
    slots = SlotMap([FIRST, SECOND], "here")
    slots.learn(TOLD, FIRST)
    return slots


def question(until: float = 10.0) -> Call:
    return Call(script("lock_renew"), ("a",), (1000, "owner"), now() + until)


def refused(text: str, slots: SlotMap, asked: Address = FIRST) -> Any:
    return noted(from_reply(text, ("a",), f"node {asked}"), asked, slots)


def asked(request: Any) -> tuple[Any, Destination]:
    """What one call of a request is, and whom it asks."""
    assert type(request) is Together
    (call,) = request.calls
    return call.operation, call.node


def ended(steps: Any, replies: list[Any]) -> Any:
    with pytest.raises(StopIteration) as end:
        steps.send(replies)
    return end.value.value


def test_moved_is_written_down_and_followed_at_once(slots: SlotMap) -> None:
    call = question()
    steps = ask_again((call,), [refused(f"MOVED {SLOT} h:2", slots)], slots, 5.0)

    assert asked(next(steps)) == (call.operation, Destination(SECOND))
    assert ended(steps, [[1, 1]]) == [[1, 1]]
    assert slots.route(call) == SECOND
    assert slots.owner(SLOT + 1) == FIRST


def test_moved_without_a_host_means_the_host_that_was_asked(slots: SlotMap) -> None:
    refused(f"MOVED {SLOT} :7", slots)

    assert slots.owner(SLOT) == Address("h", 7)


def test_an_old_map_is_asked_for_where_the_slot_has_moved_to(slots: SlotMap) -> None:
    slots.learnt_at -= 60.0
    steps = ask_again((question(),), [refused(f"MOVED {SLOT} h:2", slots)], slots, 5.0)

    assert asked(next(steps)) == (CLUSTER_MAP, Destination(SECOND))
    told = [1, 1, [[0, 16383, [None, 2, b"id", []]]]]
    assert asked(steps.send([told]))[1] == Destination(SECOND)
    assert slots.primaries() == [SECOND]


def test_ask_is_followed_once_and_not_written_down(slots: SlotMap) -> None:
    call = question()
    steps = ask_again((call,), [refused(f"ASK {SLOT} h:2", slots)], slots, 5.0)

    assert asked(next(steps)) == (call.operation, Destination(SECOND, anyway=True))
    assert slots.route(call) == FIRST
    # The target has not all of its keys yet: after a pause the source is asked.
    again = refused("TRYAGAIN Multiple keys request during rehashing of slot", slots, SECOND)
    assert type(steps.send([again])) is Park
    assert asked(steps.send(False))[1] == Destination(FIRST)


def test_a_cluster_that_is_down_is_asked_for_its_map_after_each_pause(slots: SlotMap) -> None:
    steps = ask_again((question(),), [refused("CLUSTERDOWN The cluster is down", slots)], slots, 5)

    assert asked(next(steps))[0] is CLUSTER_MAP
    assert type(steps.send([TOLD])) is Park
    assert asked(steps.send(False))[1] == Destination(FIRST)
    assert ended(steps, ["yes"]) == ["yes"]


def test_a_node_that_is_gone_is_asked_after_the_others(slots: SlotMap) -> None:
    gone = noted(not_sent(OSError("gone"), "here"), FIRST, slots)
    steps = ask_again((question(),), [gone], slots, 5.0)

    assert slots.route(question()) is None
    assert asked(next(steps)) == (CLUSTER_MAP, Destination(SECOND))


def test_where_no_node_tells_its_map_all_that_were_refused_hear_of_it(slots: SlotMap) -> None:
    gone = noted(not_sent(OSError("gone"), "here"), FIRST, slots)
    steps = ask_again((question(), question()), [gone, "yes"], slots, 5.0)

    next(steps)
    steps.send([gone])
    failure, reply = ended(steps, [gone])
    assert isinstance(failure, StoreUnavailable)
    assert "no node of here can be asked" in str(failure)
    assert reply == "yes"


def test_a_server_without_a_cluster_is_misconfigured_and_nothing_was_done(slots: SlotMap) -> None:
    told = from_reply("ERR This instance has cluster support disabled, user_script", (), "node")
    steps = ask_again((question(),), [refused("CLUSTERDOWN", slots)], slots, 5.0)

    next(steps)
    (failure,) = ended(steps, [told])
    assert isinstance(failure, StoreMisconfigured)
    assert not failure.partial


def test_the_reason_why_no_node_was_asked_is_the_true_one(slots: SlotMap) -> None:
    call = question(-1.0)  # no time is left for the others to say more
    slots.suspect(FIRST)
    unknown = SlotMap([FIRST], "here")
    unserved = SlotMap([FIRST], "here")
    unserved.learn([1, 1, []], FIRST)

    said = []
    for each in (slots, unknown, unserved):
        (failure,) = driven(ask_again((call,), [unrouted(call, each)], each, 5.0))
        assert type(failure).__name__ == "StoreUnavailable"
        said.append(str(failure))
    assert said == [
        "node h:1 of here does not answer, and no other keeps this name yet",
        "no node of here has told yet which node keeps this name",
        "no node of here serves the slot of this name; see CLUSTER SLOTS, and add it",
    ]


def driven(steps: Any) -> Any:
    """What steps answer that ask nothing."""
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


def test_a_suspect_answers_or_serves_nothing_any_more(slots: SlotMap) -> None:
    third = Address("h", 3)
    for each in (FIRST, SECOND, third):
        slots.suspect(each)

    slots.learn(TOLD, SECOND)
    assert slots.suspects == {FIRST, SECOND}  # what the map does not name, and no URL, is gone
    noted([1, 1], SECOND, slots)
    refused(f"MOVED {SLOT} h:2", slots, FIRST)
    assert slots.suspects == set()


def test_an_unknown_outcome_is_not_asked_again(slots: SlotMap) -> None:
    unknown = noted(OutcomeUnknown("silence"), FIRST, slots)
    steps = ask_again((question(),), [unknown], slots, 5.0)

    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == [unknown]
    assert slots.suspects == {FIRST}


@pytest.mark.parametrize("code", ["ASK", "MOVED"])
def test_a_call_whose_time_is_up_between_two_nodes_is_told_that_its_name_moves(
    slots: SlotMap, code: str
) -> None:
    left = refused(f"{code} {SLOT} h:2", slots)
    steps = ask_again((question(LEAST / 2),), [left], slots, 5.0)

    with pytest.raises(StopIteration) as end:
        next(steps)
    (told,) = end.value.value
    assert isinstance(told, StoreUnavailable)
    assert str(told) == "node h:1 is moving this name to another node"


def test_what_was_written_and_not_confirmed_is_not_asked_again(slots: SlotMap) -> None:
    unconfirmed = refused("LOADING", slots)
    unconfirmed.partial = True
    steps = ask_again((question(),), [unconfirmed], slots, 5.0)

    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == [unconfirmed]


def test_what_could_not_be_answered_in_time_is_not_sent(slots: SlotMap) -> None:
    again = refused("TRYAGAIN", slots)
    steps = ask_again((question(LEAST / 2),), [again], slots, 5.0)

    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == [again]


# --- the keys of every call ----------------------------------------------------------------------

OWNER = "11111111-1111-8111-8111-111111111111:"


def first_call(steps: Any) -> Call:
    request = steps if isinstance(steps, Call) else next(steps)
    return request.calls[0] if type(request) is Together else request


def calls() -> Iterator[Call]:
    """The first question of every operation of every store."""
    backend: Any = ClusterBackend(UrlNodes(*read_cluster_url("redis+cluster://h")))
    semaphores = (backend.semaphores(2, 1), backend.leased_semaphores(2))
    rwlocks = (backend.readers, backend.writers)
    locks = (backend.locks, backend.mutexes, backend.fair_locks, backend.fenced_locks)
    for store in (*locks, *rwlocks, *semaphores):
        owner = f"{OWNER}1{store.kind_code}"
        yield first_call(store.attempt("k", owner, 10.0, True, 0.0))
        yield first_call(store.release("k", owner, 0.0))
        yield first_call(store.withdraw("k", owner, 0.0))
        yield first_call(store.withdrawal_reason("k", owner, 0.0))
        yield first_call(store.renew([("k", owner), ("other", owner)], 10.0, 0.0))
        yield first_call(store.look("k", 0.0))
    for store in rwlocks:
        yield first_call(store.downgrade("k", OWNER + "16", 10.0, 0.0))
    for store in semaphores:
        yield first_call(store.set_permits("k", 3, 0.0))
    latches = backend.latches
    yield first_call(latches.attempt("k", OWNER + "19", 10.0, True, 0.0))
    yield first_call(latches.set_count("k", 3, 0.0))
    yield first_call(latches.count_down("k", OWNER + "19", 0.0))
    yield first_call(latches.open("k", 0.0))
    yield first_call(latches.look("k", 0.0))
    yield first_call(backend.directory.kind_of("k", 0.0))


@pytest.mark.parametrize("call", list(calls()), ids=lambda call: call.operation.name)
def test_all_keys_of_a_call_are_of_one_slot_and_none_is_a_channel(call: Call) -> None:
    assert {slot_of(key) for key in call.keys} == {slot_of("k")}
    assert not any("channel" in key or "wake" in key for key in call.keys)


@pytest.mark.parametrize("call", list(calls()), ids=lambda call: call.operation.name)
def test_a_script_that_may_end_halfway_declares_a_key_that_never_exists(call: Call) -> None:
    halfway = ("release", "leave", "downgrade")
    if call.operation.name.endswith(halfway) or call.operation.name == "rwlock_look":
        assert call.keys[-1].startswith("interlock:never:")
