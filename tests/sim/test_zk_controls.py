"""Rules of the ZooKeeper stores broken on purpose, one at a time: exploring must notice.

The product's files are not touched: a part of it is replaced by one that breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.backends.zookeeper import locks, namespace, queue_nodes
from interlock.backends.zookeeper.locks import ZkLocks
from interlock.backends.zookeeper.namespace import Namespace, NodeSpec, QueuePlace
from interlock.backends.zookeeper.rwlocks import ZkRwLocks
from interlock.backends.zookeeper.semaphores import SeenLeases, ZkSemaphores
from interlock.backends.zookeeper.transport.requests import Exists, Sync
from interlock.model import Busy, validity
from interlock.steps import Call, Steps, Together
from tests.support.sim import Violation

from .zk.explore import drawn, wander
from .zk.scenario import LOCK, MUTEX, WRITE, Fault, Plan, Scenario, Want, permits

#: Within how many seeds each broken rule must be found.
SEEDS = 300


def found(plans: tuple[Plan, ...], faults: int, kinds: set[Fault], words: str) -> None:
    """Some seed leads to a violation, and it is the one that the broken rule leads to."""
    scenario = Scenario(plans, faults, frozenset(kinds))
    for seed in range(SEEDS):
        try:
            wander(scenario, drawn(seed))
        except Violation as violation:
            assert words in violation.what, f"seed {seed}: {violation}"
            return
    pytest.fail(f"not found with {SEEDS} seeds")


def instead(
    steps: Steps[Any],
    asked: Callable[[tuple[Call, ...]], tuple[Call, ...]] = lambda calls: calls,
    told: Callable[[list[Any]], list[Any]] = lambda replies: replies,
) -> Steps[Any]:
    """Let the servers be asked something else than steps ask, or steps be told something else."""
    replies = None
    try:
        while True:
            request = steps.send(replies)
            assert isinstance(request, Together)
            replies = told((yield Together(asked(request.calls))))
    except StopIteration as end:
        return end.value


def broken(function: Callable[..., Steps[Any]], **how: Any) -> Callable[..., Steps[Any]]:
    return lambda *args: instead(function(*args), **how)


def backwards(items: Any) -> Any:
    return items[::-1]


# --- after a lost answer -----------------------------------------------------------------------


def as_if_ours(replies: list[Any]) -> list[Any]:
    return [
        reply._replace(value=reply.value._replace(ephemeralOwner=reply.session))
        if hasattr(getattr(reply, "value", None), "ephemeralOwner")
        else reply
        for reply in replies
    ]


@pytest.mark.parametrize("want", [LOCK, WRITE], ids=repr)
def test_without_asking_whose_a_node_is_a_dying_one_is_adopted(
    want: Want, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = broken(queue_nodes.adopt_or_delete, told=as_if_ours)
    monkeypatch.setattr(queue_nodes, "adopt_or_delete", careless)
    plan = Plan(want, work=5.0, times=2)

    found((plan, plan), 2, {Fault.CUT}, "believe that they hold")


def unsynced(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """The same without asking the leader."""
    return tuple(
        call._replace(operation=Exists(call.operation.path))
        if isinstance(call.operation, Sync)
        else call
        for call in calls
    )


@pytest.mark.parametrize("want", [LOCK, WRITE, MUTEX], ids=repr)
def test_without_asking_the_leader_a_client_waits_for_itself(
    want: Want, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = broken(queue_nodes.adopt_or_delete, asked=unsynced)
    monkeypatch.setattr(queue_nodes, "adopt_or_delete", hasty)
    plans = (Plan(want, times=2), Plan(want))

    found(plans, 3, {Fault.CUT, Fault.LAGGED}, "waits")


def test_without_asking_the_leader_whoever_leaves_leaves_a_node_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "leave", broken(queue_nodes.leave, asked=unsynced))

    found((Plan(wait=0.0, times=3), Plan()), 2, {Fault.CUT, Fault.LAGGED}, "left behind")


# --- waiting -----------------------------------------------------------------------------------


def test_refused_try_that_keeps_its_node_leaves_it_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stays(store: ZkLocks, spec: NodeSpec, *rest: Any) -> Steps[Busy]:
        return Busy(None, None)
        yield

    monkeypatch.setattr(ZkLocks, "_refused", stays)

    found((Plan(), Plan(wait=0.0)), 0, set(), "left behind")


def test_without_a_watch_a_wake_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(*args: Any) -> Steps[bool]:
        return True
        yield

    monkeypatch.setattr(queue_nodes, "watch", deaf)

    found((Plan(), Plan(was_busy=True)), 0, set(), "waits")


def test_without_the_line_two_wait_for_each_others_leases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_line = ZkSemaphores._in_line

    def anywhere(*args: Any) -> Steps[tuple[QueuePlace, None]]:
        place, _ = yield from in_line(*args)
        return place, None

    monkeypatch.setattr(ZkSemaphores, "_in_line", anywhere)

    found((Plan(permits(2, 2)),) * 2, 0, set(), "waits for what nobody has")


# --- holding -----------------------------------------------------------------------------------


def test_lease_counted_before_it_is_made_is_one_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lease that was not there yet when its owner looked: the line alone does not help."""

    def unseen(seen: SeenLeases) -> bool:
        return len(seen.leases) - len(seen.mine.share) <= seen.room

    monkeypatch.setattr(SeenLeases, "fits", property(unseen))

    found((Plan(permits(2)),) * 4, 0, set(), "believe that they hold")


def test_writer_that_stops_writing_before_it_reads_lets_another_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading_on = broken(ZkRwLocks._read_on, asked=backwards, told=backwards)
    monkeypatch.setattr(ZkRwLocks, "_read_on", lambda *args: reading_on(*args))

    found((Plan(WRITE, downgrades=True), Plan(WRITE)), 0, set(), "believe that they hold")


def test_lease_trusted_for_longer_than_a_session_is_believed_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Namespace, "effective_lease", lambda namespace, lease: lease)
    monkeypatch.setattr(
        Namespace, "valid_until", lambda namespace, asked, lease: validity(asked, lease)
    )
    plan = Plan(work=20.0)

    found((plan, plan), 1, {Fault.CUT, Fault.FROZEN}, "believe that they hold")


def test_without_asking_the_leader_a_renewal_overlooks_a_revocation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hasty = broken(namespace._looked_at, asked=unsynced)
    monkeypatch.setattr(namespace, "_looked_at", hasty)
    plan = Plan(work=20.0)

    found((plan, plan), 2, {Fault.LAGGED, Fault.REVOKED}, "was robbed of")


def test_debt_forgotten_with_its_lease_leaves_a_node_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node does not end with its lease, so whoever owes its withdrawal owes it for good."""
    monkeypatch.setattr(ZkLocks, "leases_expire", True)
    plan = Plan(lease=1.0, times=2)

    found((plan, plan), 2, {Fault.CUT, Fault.CANCELLED}, "for ever")
