"""Several owners of one name: who holds how much of it, in which order, with which token."""

from __future__ import annotations

from pathlib import Path

from interlock.backends.sqlite.records import ALIVE_MS
from interlock.ledger import downgrade, look, renew, withdraw
from interlock.ledger.shelf import BUSY, GRANTED, WHOLE

from ..redis.worlds import World
from .raw import holders, queue, weights
from .shelf import ANN, BOB, CID, DAN, Shelf

# --- readers and writers ------------------------------------------------------------------------


def test_readers_share_a_name_in_the_order_of_their_arrival(shelf: Shelf, path: Path) -> None:
    for owner in (CID, ANN, BOB):
        assert shelf.read(owner)[0] == GRANTED

    assert holders(path) == [CID, ANN, BOB]
    assert [holder.owner for holder in shelf.call(look, "k").holders] == [CID, ANN, BOB]


def test_one_of_several_leaves_and_the_others_stay(shelf: Shelf, path: Path) -> None:
    for owner in (ANN, BOB, CID):
        shelf.read(owner)

    assert shelf.release(BOB, "rwlock") == 1

    assert holders(path) == [ANN, CID]
    assert shelf.release(BOB, "rwlock") == 0


def test_a_writer_waits_for_the_last_reader_and_the_readers_behind_for_it(
    shelf: Shelf, path: Path
) -> None:
    for owner in (ANN, BOB):
        shelf.read(owner)
    assert shelf.write(CID)[:2] == (BUSY, ANN)
    assert shelf.read(DAN)[0] == BUSY

    shelf.release(ANN, "rwlock")
    assert (holders(path), queue(path)) == ([BOB], [CID, DAN])
    shelf.release(BOB, "rwlock")

    assert (holders(path), weights(path), queue(path)) == ([CID], [WHOLE], [DAN])


def test_readers_at_the_head_of_the_queue_are_let_in_together(shelf: Shelf, path: Path) -> None:
    shelf.write(ANN)
    for owner in (BOB, CID):
        shelf.read(owner)
    shelf.write(DAN)

    shelf.release(ANN, "rwlock")

    assert (holders(path), queue(path)) == ([BOB, CID], [DAN])


def test_a_writer_that_becomes_a_reader_keeps_its_token_and_lets_readers_in(
    shelf: Shelf, path: Path
) -> None:
    _, token = shelf.write(ANN)
    shelf.read(BOB)

    assert shelf.call(downgrade, "k", "rwlock", ANN, 30.0) == 1

    assert (holders(path), weights(path)) == ([ANN, BOB], [1, 1])
    assert shelf.call(look, "k").holders[0].token == token


def test_a_waiting_writer_that_goes_lets_those_in_who_waited_for_it_alone(
    shelf: Shelf, path: Path
) -> None:
    shelf.read(ANN)
    shelf.write(BOB)
    shelf.read(CID)

    shelf.call(withdraw, "k", "rwlock", BOB)

    assert (holders(path), queue(path)) == ([ANN, CID], [])


def test_a_waiting_writer_that_died_stands_in_nobodys_way(shelf: Shelf, path: Path) -> None:
    shelf.read(ANN)
    shelf.write(BOB)
    shelf.later(ALIVE_MS + 100)

    assert shelf.read(CID)[0] == GRANTED
    assert holders(path) == [ANN, CID]


# --- leases that end -----------------------------------------------------------------------------


def test_a_share_whose_lease_has_ended_is_nobodys_and_goes_with_the_next_to_come(
    shelf: Shelf, path: Path
) -> None:
    shelf.read(ANN, lease=1.0)
    shelf.read(BOB)
    shelf.later(1100)
    assert [holder.owner for holder in shelf.call(look, "k").holders] == [BOB]
    assert holders(path) == [ANN, BOB]

    shelf.read(CID)

    assert holders(path) == [BOB, CID]


def test_a_share_whose_lease_has_ended_goes_with_the_next_to_leave(
    shelf: Shelf, path: Path
) -> None:
    shelf.read(ANN, lease=1.0)
    shelf.read(BOB)
    shelf.later(1100)

    shelf.release(BOB, "rwlock")

    assert holders(path) == []


def test_an_owner_whose_lease_has_ended_comes_back_as_the_last(shelf: Shelf, path: Path) -> None:
    shelf.read(ANN, lease=1.0)
    shelf.read(BOB)
    shelf.later(1100)

    assert shelf.read(ANN)[0] == GRANTED

    assert holders(path) == [BOB, ANN]


def test_a_renewal_reaches_one_share_and_never_one_that_has_ended(shelf: Shelf) -> None:
    shelf.read(ANN, lease=1.0)
    shelf.read(BOB, lease=10.0)
    shelf.read(CID, lease=10.0)
    shelf.later(1100)

    answers = shelf.asked(renew, 60.0, ("k", ANN), ("k", BOB), ("j", CID))

    assert answers == [False, True, False]
    left = {each.owner: each.expires_in for each in shelf.call(look, "k").holders}
    assert left[BOB] > 50 > 10 > left[CID]


# --- tokens --------------------------------------------------------------------------------------


def test_each_holder_has_a_token_of_its_own(shelf: Shelf) -> None:
    tokens = [shelf.read(owner)[1] for owner in (ANN, BOB, CID)]

    info = shelf.call(look, "k")

    assert [holder.token for holder in info.holders] == tokens == sorted(set(tokens))
    assert info.token == tokens[-1]


def test_a_holder_that_asks_again_has_a_newer_token_and_the_others_keep_theirs(
    shelf: Shelf,
) -> None:
    (_, first), (_, second) = shelf.read(ANN), shelf.read(BOB)

    _, newer = shelf.read(ANN)

    assert newer > second > first
    assert [holder.token for holder in shelf.call(look, "k").holders] == [newer, second]


def test_whoever_was_handed_a_share_has_a_token_once_it_has_claimed_it(shelf: Shelf) -> None:
    shelf.write(ANN)
    shelf.write(BOB)
    shelf.release(ANN, "rwlock")
    assert shelf.call(look, "k").token is None

    _, token = shelf.write(BOB)

    assert shelf.call(look, "k").token == token


def test_clients_of_both_worlds_see_every_reader_and_its_token(world: World, url: str) -> None:
    clients = [world.connect(url) for _ in range(3)]
    holds = [world.do(client.rwlock("k").read().acquire) for client in clients]

    info = world.do(lambda: clients[0].inspect("k"))

    assert [(each.owner, each.token, each.mode) for each in info.holders] == [
        (hold.owner, hold.token, "read") for hold in holds
    ]
    for hold in holds:
        world.do(hold.release)
