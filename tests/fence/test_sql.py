"""`fence.sql`: the check is a part of the caller's own transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import psycopg
import pytest
import sqlalchemy

import interlock
from interlock import StaleToken, UsageError, fence
from tests.support.eventually import eventually
from tests.support.postgres import PostgresServer

from .databases import DRIVERS, Database, execute, open_database, write, written

#: Seconds for everything that should take none.
SOON = 20.0


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Database]]:
    databases: list[Database] = []

    def open_one(driver: str) -> Database:
        databases.append(
            open_database(driver, tmp_path, lambda: request.getfixturevalue("postgres"))
        )
        return databases[-1]

    yield open_one
    for each in databases:
        each.close()


@pytest.fixture(params=DRIVERS)
def database(request: pytest.FixtureRequest, opened: Callable[[str], Database]) -> Database:
    """A database by each driver, and by SQLAlchemy."""
    return opened(request.param)


@pytest.fixture(params=["sqlite3", "postgres"])
def plain(request: pytest.FixtureRequest, opened: Callable[[str], Database]) -> Database:
    """A database by each driver."""
    return opened(request.param)


def put(connection: Any, token: int, text: str = "") -> None:
    """Write something as the holder of a token, in a transaction of its own."""
    fence.sql(connection, "orders:42", token)
    write(connection, text or str(token))
    connection.commit()


def test_tokens_pass_in_order_and_an_equal_one_again(database: Database) -> None:
    connection = database.connect()

    for token in (5, 5, 7):
        put(connection, token)

    assert written(connection) == ["5", "5", "7"]


def test_stale_token_is_refused_and_names_both(database: Database) -> None:
    connection = database.connect()
    put(connection, 7)

    with pytest.raises(StaleToken) as refusal:
        put(connection, 6)

    assert (refusal.value.resource, refusal.value.token, refusal.value.newest) == (
        "orders:42",
        6,
        7,
    )
    assert "token 6 is stale for 'orders:42': 7 has been seen" in str(refusal.value)
    assert written(connection) == ["7"]


def test_resources_are_apart(database: Database) -> None:
    connection = database.connect()
    put(connection, 7)

    fence.sql(connection, "orders:43", 1)
    fence.sql(connection, "it's; DROP TABLE log --", 1)

    assert written(connection) == ["7"]


def test_rollback_takes_the_token_back_with_the_write(database: Database) -> None:
    connection = database.connect()
    put(connection, 5)
    fence.sql(connection, "orders:42", 9)
    write(connection, "9")
    connection.rollback()

    put(connection, 6)

    assert written(connection) == ["5", "6"]


def test_hold_is_taken_for_its_token(plain: Database) -> None:
    connection = plain.connect()
    with interlock.connect("memory://") as il:
        with il.lock("orders:42") as old:
            pass
        with il.lock("orders:42") as hold:
            fence.sql(connection, "orders:42", hold)

        with pytest.raises(StaleToken):
            fence.sql(connection, "orders:42", old)


def test_largest_tokens_are_told_apart(database: Database) -> None:
    connection = database.connect()
    put(connection, 2**63 - 1)

    with pytest.raises(StaleToken):
        put(connection, 2**63 - 2)


# --- two transactions at the same time ----------------------------------------------------------


class Rival:
    """Another transaction, in another thread; `asked` once its first statement is on its way."""

    def __init__(self, database: Database, pool: ThreadPoolExecutor, token: int) -> None:
        self.connection = database.connect()
        self._pid = getattr(getattr(self.connection, "info", None), "backend_pid", None)
        self._watcher = None if self._pid is None else database.connect()
        self._asked = Event()
        if self._pid is None:
            self.connection.set_trace_callback(lambda _: self._asked.set())
        self.outcome: Future[None] = pool.submit(put, self.connection, token)

    def wait_until_it_waits(self) -> None:
        """PostgreSQL tells; SQLite waits in the statement that it has begun."""
        if self._watcher is None:
            assert self._asked.wait(SOON)
        else:
            eventually(self._is_blocked, within=SOON)

    def _is_blocked(self) -> bool:
        assert self._watcher is not None
        found = self._watcher.execute("SELECT cardinality(pg_blocking_pids(%s))", (self._pid,))
        self._watcher.commit()
        return bool(found.fetchone()[0])


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.fixture(params=[None, 1], ids=["no row yet", "a row"])
def before(request: pytest.FixtureRequest, plain: Database) -> list[str]:
    """What was written before: without it, both transactions insert the row of the guard."""
    if request.param is None:
        return []
    put(plain.connect(), request.param)
    return [str(request.param)]


def test_newer_token_waits_for_an_older_one_that_was_first(
    plain: Database, pool: ThreadPoolExecutor, before: list[str]
) -> None:
    first = plain.connect()
    fence.sql(first, "orders:42", 5)
    rival = Rival(plain, pool, 6)
    rival.wait_until_it_waits()
    assert not rival.outcome.done()

    write(first, "5")
    first.commit()
    rival.outcome.result(SOON)

    assert written(first) == [*before, "5", "6"]


def test_older_token_waits_for_a_newer_one_and_is_refused(
    plain: Database, pool: ThreadPoolExecutor, before: list[str]
) -> None:
    first = plain.connect()
    fence.sql(first, "orders:42", 6)
    rival = Rival(plain, pool, 5)
    rival.wait_until_it_waits()

    write(first, "6")
    first.commit()
    with pytest.raises(StaleToken) as refusal:
        rival.outcome.result(SOON)

    assert refusal.value.newest == 6
    assert written(first) == [*before, "6"]


def test_older_token_passes_when_the_newer_one_is_rolled_back(
    plain: Database, pool: ThreadPoolExecutor, before: list[str]
) -> None:
    first = plain.connect()
    fence.sql(first, "orders:42", 6)
    rival = Rival(plain, pool, 5)
    rival.wait_until_it_waits()

    first.rollback()
    rival.outcome.result(SOON)

    assert written(first) == [*before, "5"]


def test_writes_of_a_crowd_are_in_the_order_of_their_tokens(
    plain: Database, pool: ThreadPoolExecutor
) -> None:
    start = Barrier(6)

    def holders(first: int) -> int:
        connection, refused = plain.connect(), 0
        start.wait(SOON)
        for token in range(first, 120, 6):
            try:
                put(connection, token)
            except StaleToken:
                connection.rollback()
                refused += 1
        return refused

    refused = sum(pool.map(holders, range(1, 7)))

    tokens = [int(text) for text in written(plain.connect())]
    assert tokens == sorted(tokens)
    assert len(tokens) + refused == 119


def test_transaction_with_an_older_snapshot_is_not_let_through(
    opened: Callable[[str], Database],
) -> None:
    database = opened("postgres")
    put(database.connect(), 1)
    late = database.connect()
    late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    written(late)  # from now on it sees the database as it is
    put(database.connect(), 7)

    with pytest.raises(psycopg.errors.SerializationFailure):
        fence.sql(late, "orders:42", 6)


def test_tables_made_at_the_same_time_are_one(postgres: PostgresServer) -> None:
    start = Barrier(4)

    def make(_: int) -> None:
        with psycopg.connect(postgres.dsn) as connection:
            start.wait(SOON)
            fence.create_table(connection, table="made_by_several")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(4)))

    with psycopg.connect(postgres.dsn) as connection:
        fence.sql(connection, "orders:42", 1, table="public.made_by_several")


# --- what is refused -----------------------------------------------------------------------------


def sqlite_in_autocommit(postgres: PostgresServer) -> Any:
    return sqlite3.connect(":memory:", isolation_level=None)


def psycopg_in_autocommit(postgres: PostgresServer) -> Any:
    return psycopg.connect(postgres.dsn, autocommit=True)


def sqlalchemy_in_autocommit(postgres: PostgresServer) -> Any:
    return sqlalchemy.create_engine(
        postgres.sqlalchemy_url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.pool.NullPool
    ).connect()


@pytest.mark.parametrize(
    "connect", [sqlite_in_autocommit, psycopg_in_autocommit, sqlalchemy_in_autocommit]
)
def test_connection_that_commits_each_statement_is_refused(
    connect: Callable[[PostgresServer], Any], postgres: PostgresServer
) -> None:
    connection = connect(postgres)
    fence.create_table(connection, table="of_autocommit")

    with pytest.raises(UsageError, match="begin a transaction before"):
        fence.sql(connection, "orders:42", 1, table="of_autocommit")

    connection.close()


def test_autocommit_with_a_transaction_of_its_own_is_welcome() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    fence.create_table(connection)
    connection.execute("BEGIN IMMEDIATE")

    fence.sql(connection, "orders:42", 1)

    connection.execute("COMMIT")
    connection.close()


@pytest.mark.parametrize("table", ["", "a b", "x; DROP TABLE y", "a.b.c", "1st"])
def test_table_is_a_plain_name(table: str) -> None:
    with pytest.raises(UsageError, match="plain name"):
        fence.sql(sqlite3.connect(":memory:"), "orders:42", 1, table=table)


@pytest.mark.parametrize(
    "thing",
    [None, "a.db", object(), sqlalchemy.create_engine("sqlite://")],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_no_connection_is_named(thing: object) -> None:
    with pytest.raises(TypeError, match="connection must be"):
        fence.sql(thing, "orders:42", 1)


@pytest.mark.parametrize("token", [None, True, "7", 7.0, object()])
def test_what_is_no_token_is_named(token: Any) -> None:
    with pytest.raises(TypeError, match="token must be a hold"):
        fence.sql(sqlite3.connect(":memory:"), "orders:42", token)


@pytest.mark.parametrize("token", [-1, 2**63])
def test_token_has_63_bits(token: int) -> None:
    with pytest.raises(UsageError, match="between 0 and"):
        fence.sql(sqlite3.connect(":memory:"), "orders:42", token)


def test_several_tokens_are_not_one() -> None:
    with interlock.connect("memory://") as il, il.multilock("a", "b") as held:
        several: Any = held
        with pytest.raises(TypeError, match=r"hold\.tokens"):
            fence.sql(sqlite3.connect(":memory:"), "orders:42", several)


# --- a token in the row itself -----------------------------------------------------------------


def test_token_in_the_row_itself_needs_no_guard_table(plain: Database) -> None:
    """The pattern of the page: one statement, and no other holder comes in between."""
    connection = plain.connect()
    execute(connection, "CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, fence BIGINT)")
    execute(connection, "INSERT INTO orders VALUES (42, 'paid', 0)")

    def ship(token: int) -> int:
        statement = (
            f"UPDATE orders SET state = 'by {token}', fence = {token} "
            f"WHERE id = 42 AND fence <= {token}"
        )
        rows: int = execute(connection, statement).rowcount
        return rows

    assert [ship(5), ship(5), ship(7), ship(6)] == [1, 1, 1, 0]
    assert execute(connection, "SELECT state FROM orders").fetchone()[0] == "by 7"
