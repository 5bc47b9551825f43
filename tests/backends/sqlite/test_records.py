"""What stays in the file, and what does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock.backends.sqlite.backend import SqliteBackend
from interlock.backends.sqlite.transport import opening
from interlock.backends.sqlite.transport.records import ALIVE_MS, GONE_MS, SqliteRecords
from interlock.backends.sqlite.transport.shared_file import open_files
from interlock.drive import now
from interlock.errors import StoreError, StoreUnavailable
from interlock.ledger import Declared, Queued, introduce, look, withdraw
from interlock.ledger.stores import BATCH
from interlock.model import TOMBSTONE, Holder
from interlock.steps import Call, Steps, Together

from ...processes.people import Worker
from .lockfile import ANN, BOB, CID, LockFile
from .raw import ask, holders, queue, until


def test_a_pair_leaves_nothing_but_the_token(client: interlock.Client, path: Path) -> None:
    with client.lock("k"):
        pass

    assert ask(path, "SELECT name FROM records") == [("",)]
    assert queue(path) == []
    assert ask(path, "SELECT * FROM tombs") == []


def test_a_waiter_that_asks_again_keeps_its_place(file: LockFile, path: Path) -> None:
    for owner in (ANN, BOB, CID, BOB):
        file.attempt(owner)

    assert queue(path) == [BOB, CID]


def test_places_are_given_in_order_even_when_the_first_have_gone(
    file: LockFile, path: Path
) -> None:
    for owner in (ANN, BOB, CID):
        file.attempt(owner)
    file.release(ANN)
    file.attempt(ANN)

    assert holders(path) == [BOB]
    assert queue(path) == [CID, ANN]


def test_a_waiter_lives_for_a_while_after_its_last_question(file: LockFile, path: Path) -> None:
    file.attempt(ANN)
    file.attempt(BOB)
    file.later(ALIVE_MS - 100)

    file.release(ANN)

    assert holders(path) == [BOB]


def test_a_waiter_that_has_died_is_passed_over_and_swept_away(file: LockFile, path: Path) -> None:
    for owner in (ANN, BOB):
        file.attempt(owner)
    file.later(ALIVE_MS + 100)
    file.attempt(CID)

    file.release(ANN)

    assert holders(path) == [CID]
    assert queue(path) == []


def test_a_lock_whose_waiters_have_all_died_is_free(file: LockFile, path: Path) -> None:
    file.attempt(ANN)
    file.attempt(BOB)
    file.later(ALIVE_MS + 100)

    file.release(ANN)

    assert holders(path) == []
    assert file.attempt(CID, waits=False)[0] == 1


def test_only_the_living_are_counted_as_waiters(file: LockFile) -> None:
    for owner in (ANN, BOB):
        file.attempt(owner)
    file.later(ALIVE_MS + 100)
    file.attempt(CID)

    assert file.call(look, "k").waiters == 1


def test_a_withdrawn_owner_is_refused_for_a_while_and_then_forgotten(
    file: LockFile, path: Path
) -> None:
    file.call(withdraw, "k", "lock", ANN)
    assert file.attempt(ANN) == (2,)
    file.later(int(TOMBSTONE * 1000) + 100)

    file.call(withdraw, "k", "lock", BOB)

    assert ask(path, "SELECT owner FROM tombs") == [(BOB,)]
    assert file.attempt(ANN)[0] == 1


def test_whoever_introduces_itself_sweeps(file: LockFile, path: Path) -> None:
    file.attempt(ANN)
    file.attempt(BOB)
    file.call(withdraw, "j", "lock", CID)
    file.call(introduce, Holder("ann", "host", 7, "program"))
    file.later(GONE_MS + 100)

    file.call(introduce, Holder("bob", "host", 8, "program"))

    tables = ("records WHERE name != ''", "queue", "tombs")
    assert [ask(path, f"SELECT * FROM {table}") for table in tables] == [[], [], []]
    assert ask(path, "SELECT identity, pid FROM clients") == [("bob", 8)]


def test_names_that_are_no_text_are_introduced_all_the_same(file: LockFile, path: Path) -> None:
    file.call(introduce, Holder("ann", "host\udcff", 7, "\udce9t\udce9.py"))

    assert ask(path, "SELECT host, program FROM clients") == [("host?", "?t?.py")]


def test_a_holder_is_described_by_its_process(
    client: interlock.Client, worker: Callable[[], Worker]
) -> None:
    neighbour = worker()
    neighbour.acquire("k")

    def described() -> bool:
        with pytest.raises(interlock.AcquireTimeout) as refused:
            client.lock("k", timeout=0).acquire()
        return f":{neighbour.pid} (worker.py)" in str(refused.value)

    until(described)


def test_a_client_that_closes_takes_its_waiters_along(
    client: interlock.Client, url: str, path: Path
) -> None:
    hold = client.lock("k").acquire()
    other = interlock.connect(url)
    thread = threading.Thread(target=_wait_in_vain, args=(other,))
    thread.start()
    until(lambda: len(queue(path)) == 1)

    other.close()

    assert queue(path) == []
    hold.release()
    assert client.lock("k").acquire(blocking=False) is not None
    thread.join(10)


def _wait_in_vain(client: interlock.Client) -> None:
    with pytest.raises(StoreUnavailable, match="closed"):
        client.lock("k", timeout=0.3).acquire()


def test_the_log_does_not_grow_without_bounds(
    client: interlock.Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CHECKPOINT_PAGES", 100)
    for _ in range(500):
        with client.lock("k"):
            pass

    assert Path(f"{path}-wal").stat().st_size < 300 * 1100


def test_renewals_go_in_batches() -> None:
    locks = SqliteBackend("/x").locks
    holds = [(f"k{number}", f"me:{number}") for number in range(BATCH + 10)]
    steps: Steps[Any] = locks.renew(holds, 30.0, now() + 5)
    request = next(steps)
    assert isinstance(request, Together)
    failure = StoreError("no answer")

    with pytest.raises(StopIteration) as end:
        steps.send([[True] * BATCH, failure])

    assert [len(call.args) - 1 for call in request.calls] == [BATCH, 10]
    assert end.value.value == [True] * BATCH + [failure] * 10


def test_an_operation_sees_at_once_what_it_has_changed(file: LockFile) -> None:
    def change(records: SqliteRecords, name: str) -> None:
        assert (records.held(name), records.declared(name), records.head(name)) == ((), None, None)
        records.put(name, "semaphore", ANN, 2, 30.0)
        records.declare(name, "semaphore", 3)
        records.enqueue(name, BOB, 4)
        assert [each[:3] for each in records.held(name)] == [("semaphore", ANN, 2)]
        assert records.declared(name) == Declared("semaphore", 3)
        assert records.head(name) == Queued(BOB, 4)
        records.drop(name, ANN)
        records.undeclare(name)
        records.dequeue(name, BOB)
        assert (records.held(name), records.declared(name), records.head(name)) == ((), None, None)

    file.call(change, "k")
    assert file.call(look, "k") is None


def test_a_transaction_interrupted_by_its_own_thread_refuses_the_second(path: Path) -> None:
    """As a signal handler or a finalizer would do it."""
    shared = open_files().enter(str(path))

    def handler(file: Any, name: str) -> str:
        with pytest.raises(StoreUnavailable, match="signal handler"):
            shared.try_apply((Call(look, ("k",), (), now() + 5),))
        file.put(name, "lock", ANN, 1, 30.0)
        return "done"

    assert shared.try_apply((Call(handler, ("k",), (), now() + 5),)) == ["done"]
    assert holders(path) == [ANN]
    open_files().leave(shared)


def test_an_interrupted_transaction_is_undone_and_blocks_nobody(path: Path) -> None:
    shared = open_files().enter(str(path))

    def interrupt(file: Any, name: str) -> None:
        file.put(name, "lock", ANN, 1, 30.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:
        shared.try_apply((Call(interrupt, ("k",), (), now() + 5),))

    # Even while its traceback is alive.
    assert kept.value.__traceback__ is not None
    ask(path, "BEGIN IMMEDIATE")
    assert holders(path) == []
    assert shared.try_apply((Call(look, ("k",), (), now() + 5),)) == [None]
    open_files().leave(shared)
