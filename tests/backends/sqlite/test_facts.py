"""What names are for good, what is known of the withdrawn, and what can be asked of all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interlock.backends.sqlite import clock
from interlock.backends.sqlite.records import GONE_MS, Records, vacate
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
    why,
    withdraw,
)
from interlock.ledger.shelf import BURIED, BUSY, GRANTED, OTHER_KIND, WHOLE
from interlock.model import MARKS, TOMBSTONE, Holder
from interlock.steps import Call

from .raw import ask, holders, occupied, queue
from .shelf import ANN, BOB, CID, DAN, Shelf


def facts(path: Path) -> list[Any]:
    return ask(path, "SELECT * FROM facts ORDER BY name")


# --- latches -------------------------------------------------------------------------------------


def test_a_latch_counts_down_and_leaves_nothing(shelf: Shelf, path: Path) -> None:
    assert shelf.call(set_count, "k", 2) == (GRANTED,)
    assert shelf.call(pass_latch, "k", CID, True)[0] == BUSY
    assert (facts(path), queue(path)) == ([("k", "latch", 2)], [CID])

    assert [shelf.call(count_down, "k", owner)[1] for owner in (ANN, BOB)] == [1, 0]

    assert (facts(path), queue(path), holders(path)) == ([], [], [])
    assert shelf.call(pass_latch, "k", CID, True)[0] == GRANTED
    assert holders(path) == []


def test_an_owner_counts_once_however_often_it_says_so(shelf: Shelf) -> None:
    shelf.call(set_count, "k", 3)

    assert [shelf.call(count_down, "k", ANN)[1] for _ in range(3)] == [2, 2, 2]


def test_everybody_who_waits_for_a_latch_is_let_go_at_once(shelf: Shelf, path: Path) -> None:
    shelf.call(set_count, "k", 1)
    woken: list[str] = []
    for owner in (ANN, BOB, CID):
        shelf.call(pass_latch, "k", owner, True)
        shelf.world.watch.enter(("k", owner), partial(woken.append, owner))

    shelf.call(count_down, "k", DAN)

    assert woken == [ANN, BOB, CID]
    assert queue(path) == []


def test_passing_a_latch_gives_a_newer_token_each_time(shelf: Shelf) -> None:
    tokens = [shelf.call(pass_latch, "k", owner, False)[1] for owner in (ANN, BOB, ANN)]

    assert tokens == sorted(set(tokens))


# --- what stays ----------------------------------------------------------------------------------


def test_facts_outlive_the_sweep_and_another_boot(
    shelf: Shelf, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.call(set_count, "latch", 3)
    shelf.call(set_permits, "gpu", "semaphore", 4)
    shelf.call(attempt, "gpu", "semaphore", ANN, 30.0, True)
    shelf.later(GONE_MS + 100)
    shelf.asked(introduce, Holder("bob", "host", 8, "program"))
    shelf.close()
    monkeypatch.setattr(clock, "boot_id", lambda: "the next boot")

    after = Shelf(path)

    assert facts(path) == [("gpu", "semaphore", 4), ("latch", "latch", 3)]
    assert after.call(look, "gpu").available == 4
    after.close()


# --- names ---------------------------------------------------------------------------------------


def test_names_are_those_that_are_held_or_known_for_good(shelf: Shelf) -> None:
    shelf.call(attempt, "held", "lock", ANN, 30.0, True)
    shelf.call(attempt, "read", "rwlock", ANN, 30.0, True, 1)
    shelf.call(attempt, "read", "rwlock", BOB, 30.0, True, 1)
    shelf.call(attempt, "lapsed", "lock", ANN, 1.0, True)
    shelf.call(set_permits, "free semaphore", "semaphore", 4)
    shelf.call(set_count, "latch", 1)
    shelf.later(1100)

    found = shelf.asked(names)

    assert found == [
        ("free semaphore", "semaphore"),
        ("held", "lock"),
        ("latch", "latch"),
        ("read", "rwlock"),
    ]
    assert found == [(name, shelf.call(kind_of, name)) for name, _ in found]
    assert shelf.asked(Records.names) == [name for name, _ in found]
    assert shelf.call(kind_of, "lapsed") is None


def test_an_empty_file_has_no_names(shelf: Shelf) -> None:
    assert shelf.asked(names) == []


QUESTIONS = [
    Call(look, ("k",), (), 0.0),
    Call(kind_of, ("k",), (), 0.0),
    Call(names, (), (), 0.0),
    Call(why, ("k",), (ANN,), 0.0),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda call: call.operation.__name__)
def test_looking_waits_for_nobody(shelf: Shelf, path: Path, question: Call) -> None:
    shelf.attempt(ANN)

    with occupied(path):
        assert shelf.world.once((question,)) is not None


# --- tombs ---------------------------------------------------------------------------------------


def test_a_tomb_tells_why_as_long_as_it_stands(shelf: Shelf) -> None:
    shelf.attempt(ANN)
    shelf.call(withdraw, "k", "lock", ANN, "it was stuck")

    assert shelf.attempt(ANN) == (BURIED,)
    assert shelf.call(why, "k", ANN) == "it was stuck"
    assert shelf.call(why, "k", BOB) == ""
    shelf.later(int(TOMBSTONE * 1000) + 100)
    assert shelf.call(why, "k", ANN) == ""


def test_a_second_withdrawal_without_a_reason_keeps_the_first_one(shelf: Shelf) -> None:
    shelf.call(withdraw, "k", "lock", ANN, "it was stuck")
    shelf.call(withdraw, "k", "lock", ANN)
    assert shelf.call(why, "k", ANN) == "it was stuck"

    shelf.call(withdraw, "k", "lock", ANN, "really")

    assert shelf.call(why, "k", ANN) == "really"


def test_a_reason_that_is_no_text_is_kept_all_the_same(shelf: Shelf) -> None:
    shelf.call(withdraw, "k", "lock", ANN, "\udce9")

    assert shelf.call(why, "k", ANN) == "?"


# --- clients that go while they wait -------------------------------------------------------------


@pytest.mark.parametrize("mark", sorted(MARKS.keys() - {"latch"}))
def test_a_waiter_that_goes_hands_on_what_it_was_handed_as_what_it_is(
    shelf: Shelf, path: Path, mark: str
) -> None:
    ann, bob, cid = (f"{person}:1{MARKS[mark]}" for person in ("ann", "bob", "cid"))
    kind = "rwlock" if mark in ("read", "write") else mark
    share = (WHOLE,) if kind == "rwlock" else (1, 1)
    for owner in (ann, bob, cid):
        shelf.call(attempt, "k", kind, owner, 30.0, True, *share)
    shelf.release(ann, kind)

    shelf.asked(vacate, ("k", bob))

    assert ask(path, "SELECT owner, kind FROM records WHERE name = 'k'") == [(cid, kind)]
    assert shelf.call(attempt, "k", kind, cid, 30.0, True, *share)[0] == GRANTED
    assert ask(path, "SELECT owner FROM tombs") == [(bob,)]


def test_who_waits_for_a_latch_and_goes_leaves_the_latch_as_it_is(
    shelf: Shelf, path: Path
) -> None:
    owner = f"ann:1{MARKS['latch']}"
    shelf.call(set_count, "k", 1)
    shelf.call(pass_latch, "k", owner, True)

    shelf.asked(vacate, ("k", owner))

    assert (queue(path), facts(path)) == ([], [("k", "latch", 1)])
    assert shelf.call(pass_latch, "k", owner, True) == (BURIED,)


def test_a_name_in_use_as_one_kind_is_refused_as_every_other(shelf: Shelf, path: Path) -> None:
    shelf.call(set_count, "k", 1)
    before = ask(path, "SELECT * FROM records"), facts(path)

    assert shelf.attempt(ANN) == (OTHER_KIND, "latch")
    assert shelf.permit(ANN, permits=3) == (OTHER_KIND, "latch")
    assert shelf.call(set_permits, "k", "semaphore", 3) == (OTHER_KIND, "latch")

    assert (ask(path, "SELECT * FROM records"), facts(path)) == before
    assert queue(path) == []
