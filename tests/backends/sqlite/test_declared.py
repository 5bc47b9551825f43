"""What names are for good, what is known of the withdrawn, and what can be asked of all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interlock.backends.sqlite.transport import clock
from interlock.backends.sqlite.transport.records import GONE_MS, SqliteRecords, withdraw_waiters
from interlock.ledger import (
    attempt,
    count_down,
    introduce,
    kind_of,
    look,
    names,
    pass_latch,
    set_count,
    set_permits,
    withdraw,
    withdrawal_reason,
)
from interlock.ledger.records import BURIED, BUSY, GRANTED, OTHER_KIND, WHOLE
from interlock.model import KIND_CODES, TOMBSTONE, Holder
from interlock.steps import Call

from .lockfile import ANN, BOB, CID, DAN, LockFile
from .raw import ask, holders, occupied, queue


def facts(path: Path) -> list[Any]:
    return ask(path, "SELECT * FROM facts ORDER BY name")


# --- latches -------------------------------------------------------------------------------------


def test_a_latch_counts_down_and_leaves_nothing(file: LockFile, path: Path) -> None:
    assert file.call(set_count, "k", 2) == (GRANTED,)
    assert file.call(pass_latch, "k", CID, True)[0] == BUSY
    assert (facts(path), queue(path)) == ([("k", "latch", 2)], [CID])

    assert [file.call(count_down, "k", owner)[1] for owner in (ANN, BOB)] == [1, 0]

    assert (facts(path), queue(path), holders(path)) == ([], [], [])
    assert file.call(pass_latch, "k", CID, True)[0] == GRANTED
    assert holders(path) == []


def test_an_owner_counts_once_however_often_it_says_so(file: LockFile) -> None:
    file.call(set_count, "k", 3)

    assert [file.call(count_down, "k", ANN)[1] for _ in range(3)] == [2, 2, 2]


def test_everybody_who_waits_for_a_latch_is_let_go_at_once(file: LockFile, path: Path) -> None:
    file.call(set_count, "k", 1)
    woken: list[str] = []
    for owner in (ANN, BOB, CID):
        file.call(pass_latch, "k", owner, True)
        file.shared.watch.enter(("k", owner), partial(woken.append, owner))

    file.call(count_down, "k", DAN)

    assert woken == [ANN, BOB, CID]
    assert queue(path) == []


def test_passing_a_latch_gives_a_newer_token_each_time(file: LockFile) -> None:
    tokens = [file.call(pass_latch, "k", owner, False)[1] for owner in (ANN, BOB, ANN)]

    assert tokens == sorted(set(tokens))


# --- what stays ----------------------------------------------------------------------------------


def test_facts_outlive_the_sweep_and_another_boot(
    file: LockFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.call(set_count, "latch", 3)
    file.call(set_permits, "gpu", "semaphore", 4)
    file.call(attempt, "gpu", "semaphore", ANN, 30.0, True)
    file.later(GONE_MS + 100)
    file.asked(introduce, Holder("bob", "host", 8, "program"))
    file.close()
    monkeypatch.setattr(clock, "boot_id", lambda: "the next boot")

    after = LockFile(path)

    assert facts(path) == [("gpu", "semaphore", 4), ("latch", "latch", 3)]
    assert after.call(look, "gpu").available == 4
    after.close()


# --- names ---------------------------------------------------------------------------------------


def test_names_are_those_that_are_held_or_known_for_good(file: LockFile) -> None:
    file.call(attempt, "held", "lock", ANN, 30.0, True)
    file.call(attempt, "read", "rwlock", ANN, 30.0, True, 1)
    file.call(attempt, "read", "rwlock", BOB, 30.0, True, 1)
    file.call(attempt, "lapsed", "lock", ANN, 1.0, True)
    file.call(set_permits, "free semaphore", "semaphore", 4)
    file.call(set_count, "latch", 1)
    file.later(1100)

    found = file.asked(names)

    assert found == [
        ("free semaphore", "semaphore"),
        ("held", "lock"),
        ("latch", "latch"),
        ("read", "rwlock"),
    ]
    assert found == [(name, file.call(kind_of, name)) for name, _ in found]
    assert file.asked(SqliteRecords.names) == [name for name, _ in found]
    assert file.call(kind_of, "lapsed") is None


def test_an_empty_file_has_no_names(file: LockFile) -> None:
    assert file.asked(names) == []


QUESTIONS = [
    Call(look, ("k",), (), 0.0),
    Call(kind_of, ("k",), (), 0.0),
    Call(names, (), (), 0.0),
    Call(withdrawal_reason, ("k",), (ANN,), 0.0),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda call: call.operation.__name__)
def test_looking_waits_for_nobody(file: LockFile, path: Path, question: Call) -> None:
    file.attempt(ANN)

    with occupied(path):
        assert file.shared.try_apply((question,)) is not None


# --- tombs ---------------------------------------------------------------------------------------


def test_a_tomb_tells_why_as_long_as_it_stands(file: LockFile) -> None:
    file.attempt(ANN)
    file.call(withdraw, "k", "lock", ANN, "it was stuck")

    assert file.attempt(ANN) == (BURIED,)
    assert file.call(withdrawal_reason, "k", ANN) == "it was stuck"
    assert file.call(withdrawal_reason, "k", BOB) == ""
    file.later(int(TOMBSTONE * 1000) + 100)
    assert file.call(withdrawal_reason, "k", ANN) == ""


def test_a_second_withdrawal_without_a_reason_keeps_the_first_one(file: LockFile) -> None:
    file.call(withdraw, "k", "lock", ANN, "it was stuck")
    file.call(withdraw, "k", "lock", ANN)
    assert file.call(withdrawal_reason, "k", ANN) == "it was stuck"

    file.call(withdraw, "k", "lock", ANN, "really")

    assert file.call(withdrawal_reason, "k", ANN) == "really"


def test_a_reason_that_is_no_text_is_kept_all_the_same(file: LockFile) -> None:
    file.call(withdraw, "k", "lock", ANN, "\udce9")

    assert file.call(withdrawal_reason, "k", ANN) == "?"


# --- clients that go while they wait -------------------------------------------------------------


@pytest.mark.parametrize("mark", sorted(KIND_CODES.keys() - {"latch", "barrier"}))
def test_a_waiter_that_goes_hands_on_what_it_was_handed_as_what_it_is(
    file: LockFile, path: Path, mark: str
) -> None:
    ann, bob, cid = (f"{person}:1{KIND_CODES[mark]}" for person in ("ann", "bob", "cid"))
    kind = "rwlock" if mark in ("read", "write") else mark
    share = (WHOLE,) if kind == "rwlock" else (1, 1)
    for owner in (ann, bob, cid):
        file.call(attempt, "k", kind, owner, 30.0, True, *share)
    file.release(ann, kind)

    file.asked(withdraw_waiters, ("k", bob))

    assert ask(path, "SELECT owner, kind FROM records WHERE name = 'k'") == [(cid, kind)]
    assert file.call(attempt, "k", kind, cid, 30.0, True, *share)[0] == GRANTED
    assert ask(path, "SELECT owner FROM tombs") == [(bob,)]


def test_who_waits_for_a_latch_and_goes_leaves_the_latch_as_it_is(
    file: LockFile, path: Path
) -> None:
    owner = f"ann:1{KIND_CODES['latch']}"
    file.call(set_count, "k", 1)
    file.call(pass_latch, "k", owner, True)

    file.asked(withdraw_waiters, ("k", owner))

    assert (queue(path), facts(path)) == ([], [("k", "latch", 1)])
    assert file.call(pass_latch, "k", owner, True) == (BURIED,)


def test_a_name_in_use_as_one_kind_is_refused_as_every_other(file: LockFile, path: Path) -> None:
    file.call(set_count, "k", 1)
    before = ask(path, "SELECT * FROM records"), facts(path)

    assert file.attempt(ANN) == (OTHER_KIND, "latch")
    assert file.permit(ANN, permits=3) == (OTHER_KIND, "latch")
    assert file.call(set_permits, "k", "semaphore", 3) == (OTHER_KIND, "latch")

    assert (ask(path, "SELECT * FROM records"), facts(path)) == before
    assert queue(path) == []
