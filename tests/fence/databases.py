"""The same small database by several drivers: a guard table, and a table that is protected."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy
from sqlalchemy import orm

from interlock import fence
from tests.support.postgres import PostgresServer

_numbers = itertools.count(1)

SQLITE_LOG = "CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT)"
POSTGRES_LOG = "CREATE TABLE log (id SERIAL PRIMARY KEY, text TEXT)"


class Database:
    """A database with a log; `connect` opens connections of one driver."""

    def __init__(self, connect: Callable[[], Any], log: str) -> None:
        self._connect, self._open = connect, list[Any]()
        setup = self.connect()
        fence.create_table(setup)
        execute(setup, log)
        setup.commit()

    def connect(self) -> Any:
        """Another connection, or session, which is in no transaction."""
        connection = self._connect()
        self._open.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._open:
            connection.close()


def execute(connection: Any, text: str) -> Any:
    by_sqlalchemy = type(connection).__module__.startswith("sqlalchemy")
    return connection.execute(sqlalchemy.text(text) if by_sqlalchemy else text)


def write(connection: Any, text: str) -> None:
    """Add to the log, in the transaction of a connection."""
    execute(connection, f"INSERT INTO log (text) VALUES ('{text}')")


def written(connection: Any) -> list[str]:
    """What is in the log, in order."""
    return [row[0] for row in execute(connection, "SELECT text FROM log ORDER BY id").fetchall()]


def _sqlite_path(folder: Path) -> str:
    return str(folder / f"data{next(_numbers)}.db")


def by_sqlite3(path: str) -> Callable[[], Any]:
    return lambda: sqlite3.connect(path, timeout=20, check_same_thread=False)


def schema_of(server: PostgresServer) -> str:
    """A schema of its own for each test, so that all start empty."""
    name = f"t{next(_numbers)}"
    with psycopg.connect(server.dsn) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"-c search_path={name}"


def open_database(driver: str, folder: Path, postgres: Callable[[], PostgresServer]) -> Database:
    """An empty database, by its driver: `sqlite3`, `postgres`, or by SQLAlchemy."""
    if driver == "sqlite3":
        return Database(by_sqlite3(_sqlite_path(folder)), SQLITE_LOG)
    if driver == "postgres":
        server = postgres()
        dsn, options = server.dsn, schema_of(server)
        return Database(lambda: psycopg.connect(dsn, options=options), POSTGRES_LOG)
    engine, log = _engine(driver, folder, postgres)
    is_session = driver.endswith("session")
    return Database(lambda: orm.Session(engine) if is_session else engine.connect(), log)


def _engine(
    driver: str, folder: Path, postgres: Callable[[], PostgresServer]
) -> tuple[sqlalchemy.Engine, str]:
    pool = sqlalchemy.pool.NullPool
    if "sqlite" in driver:
        url = f"sqlite:///{_sqlite_path(folder)}"
        return sqlalchemy.create_engine(
            url, poolclass=pool, connect_args={"timeout": 20}
        ), SQLITE_LOG
    options = {"options": schema_of(postgres())}
    url = postgres().sqlalchemy_url
    return sqlalchemy.create_engine(url, poolclass=pool, connect_args=options), POSTGRES_LOG


DRIVERS = (
    "sqlite3",
    "postgres",
    "sqlalchemy_sqlite_connection",
    "sqlalchemy_sqlite_session",
    "postgres_sqlalchemy_connection",
    "postgres_sqlalchemy_session",
)
