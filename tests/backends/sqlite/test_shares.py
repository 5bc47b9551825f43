"""MultiLock owners of one name: who holds how much of it, in which order, with which token."""

from __future__ import annotations

from pathlib import Path

from interlock.backends.sqlite.transport.records import ALIVE_MS
from interlock.ledger import downgrade, look, renew, withdraw
from interlock.ledger.records import BUSY, GRANTED, WHOLE

from ...support.worlds import World
from .lockfile import ANN, BOB, CID, DAN, LockFile
from .raw import holders, queue, weights

# --- readers and writers ------------------------------------------------------------------------


def test_readers_share_a_name_in_the_order_of_their_arrival(file: LockFile, path: Path) -> None:
    for owner in (CID, ANN, BOB):
        assert file.read(owner)[0] == GRANTED

    assert holders(path) == [CID, ANN, BOB]
    assert [holder.owner for holder in file.call(look, "k").holders] == [CID, ANN, BOB]


def test_one_of_several_leaves_and_the_others_stay(file: LockFile, path: Path) -> None:
    for owner in (ANN, BOB, CID):
        file.read(owner)

    assert file.release(BOB, "rwlock") == 1

    assert holders(path) == [ANN, CID]
    assert file.release(BOB, "rwlock") == 0


def test_a_writer_waits_for_the_last_reader_and_the_readers_behind_for_it(
    file: LockFile, path: Path
) -> None:
    for owner in (ANN, BOB):
        file.read(owner)
    assert file.write(CID)[:2] == (BUSY, ANN)
    assert file.read(DAN)[0] == BUSY

    file.release(ANN, "rwlock")
    assert (holders(path), queue(path)) == ([BOB], [CID, DAN])
    file.release(BOB, "rwlock")

    assert (holders(path), weights(path), queue(path)) == ([CID], [WHOLE], [DAN])


def test_readers_at_the_head_of_the_queue_are_let_in_together(file: LockFile, path: Path) -> None:
    file.write(ANN)
    for owner in (BOB, CID):
        file.read(owner)
    file.write(DAN)

    file.release(ANN, "rwlock")

    assert (holders(path), queue(path)) == ([BOB, CID], [DAN])


def test_a_writer_that_becomes_a_reader_keeps_its_token_and_lets_readers_in(
    file: LockFile, path: Path
) -> None:
    _, token = file.write(ANN)
    file.read(BOB)

    assert file.call(downgrade, "k", "rwlock", ANN, 30.0) == 1

    assert (holders(path), weights(path)) == ([ANN, BOB], [1, 1])
    assert file.call(look, "k").holders[0].token == token


def test_a_waiting_writer_that_goes_lets_those_in_who_waited_for_it_alone(
    file: LockFile, path: Path
) -> None:
    file.read(ANN)
    file.write(BOB)
    file.read(CID)

    file.call(withdraw, "k", "rwlock", BOB)

    assert (holders(path), queue(path)) == ([ANN, CID], [])


def test_a_waiting_writer_that_died_stands_in_nobodys_way(file: LockFile, path: Path) -> None:
    file.read(ANN)
    file.write(BOB)
    file.later(ALIVE_MS + 100)

    assert file.read(CID)[0] == GRANTED
    assert holders(path) == [ANN, CID]


# --- leases that end -----------------------------------------------------------------------------


def test_a_share_whose_lease_has_ended_is_nobodys_and_goes_with_the_next_to_come(
    file: LockFile, path: Path
) -> None:
    file.read(ANN, lease=1.0)
    file.read(BOB)
    file.later(1100)
    assert [holder.owner for holder in file.call(look, "k").holders] == [BOB]
    assert holders(path) == [ANN, BOB]

    file.read(CID)

    assert holders(path) == [BOB, CID]


def test_a_share_whose_lease_has_ended_goes_with_the_next_to_leave(
    file: LockFile, path: Path
) -> None:
    file.read(ANN, lease=1.0)
    file.read(BOB)
    file.later(1100)

    file.release(BOB, "rwlock")

    assert holders(path) == []


def test_an_owner_whose_lease_has_ended_comes_back_as_the_last(file: LockFile, path: Path) -> None:
    file.read(ANN, lease=1.0)
    file.read(BOB)
    file.later(1100)

    assert file.read(ANN)[0] == GRANTED

    assert holders(path) == [BOB, ANN]


def test_a_renewal_reaches_one_share_and_never_one_that_has_ended(file: LockFile) -> None:
    file.read(ANN, lease=1.0)
    file.read(BOB, lease=10.0)
    file.read(CID, lease=10.0)
    file.later(1100)

    answers = file.asked(renew, 60.0, ("k", ANN), ("k", BOB), ("j", CID))

    assert answers == [False, True, False]
    left = {each.owner: each.expires_in for each in file.call(look, "k").holders}
    assert left[BOB] > 50 > 10 > left[CID]


# --- tokens --------------------------------------------------------------------------------------


def test_each_holder_has_a_token_of_its_own(file: LockFile) -> None:
    tokens = [file.read(owner)[1] for owner in (ANN, BOB, CID)]

    info = file.call(look, "k")

    assert [holder.token for holder in info.holders] == tokens == sorted(set(tokens))
    assert info.token == tokens[-1]


def test_a_holder_that_asks_again_has_a_newer_token_and_the_others_keep_theirs(
    file: LockFile,
) -> None:
    (_, first), (_, second) = file.read(ANN), file.read(BOB)

    _, newer = file.read(ANN)

    assert newer > second > first
    assert [holder.token for holder in file.call(look, "k").holders] == [newer, second]


def test_whoever_was_handed_a_share_has_a_token_once_it_has_claimed_it(file: LockFile) -> None:
    file.write(ANN)
    file.write(BOB)
    file.release(ANN, "rwlock")
    assert file.call(look, "k").token is None

    _, token = file.write(BOB)

    assert file.call(look, "k").token == token


def test_clients_of_both_worlds_see_every_reader_and_its_token(world: World, url: str) -> None:
    clients = [world.connect(url) for _ in range(3)]
    holds = [world.do(client.rwlock("k").read().acquire) for client in clients]

    info = world.do(lambda: clients[0].inspect("k"))

    assert [(each.owner, each.token, each.mode) for each in info.holders] == [
        (hold.owner, hold.token, "read") for hold in holds
    ]
    for hold in holds:
        world.do(hold.release)
