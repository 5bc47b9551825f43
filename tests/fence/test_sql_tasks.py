"""`aio.fence.sql`: connections of asyncio, by psycopg and by SQLAlchemy."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from interlock import StaleToken, UsageError, aio, fence
from tests.support.postgres import PostgresServer

from .databases import schema_of

Connecting = Callable[[PostgresServer, str], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def by_psycopg(postgres: PostgresServer, options: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(postgres.dsn, options=options) as connection:
        yield connection


@asynccontextmanager
async def by_connection(postgres: PostgresServer, options: str) -> AsyncIterator[Any]:
    engine = create_async_engine(postgres.sqlalchemy_url, connect_args={"options": options})
    async with engine.connect() as connection:
        yield connection
    await engine.dispose()


@asynccontextmanager
async def by_session(postgres: PostgresServer, options: str) -> AsyncIterator[Any]:
    engine = create_async_engine(postgres.sqlalchemy_url, connect_args={"options": options})
    async with AsyncSession(engine) as session:
        yield session
    await engine.dispose()


@pytest.fixture
def schema(postgres: PostgresServer) -> str:
    return schema_of(postgres)


@pytest.mark.parametrize("connect", [by_psycopg, by_connection, by_session])
def test_stale_token_is_refused_in_the_transaction_of_a_task(
    postgres: PostgresServer, schema: str, connect: Connecting
) -> None:
    async def main() -> None:
        async with connect(postgres, schema) as connection:
            await aio.fence.create_table(connection)
            for token in (5, 5, 7):
                await aio.fence.sql(connection, "orders:42", token)
            await connection.commit()
            await aio.fence.sql(connection, "orders:42", 9)
            await connection.rollback()
            await aio.fence.sql(connection, "orders:42", 8)
            with pytest.raises(StaleToken) as refusal:
                await aio.fence.sql(connection, "orders:42", 6)
            assert refusal.value.newest == 8

    asyncio.run(main())


def test_older_token_waits_for_a_newer_one_in_another_task(
    postgres: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        async with by_psycopg(postgres, schema) as first, by_psycopg(postgres, schema) as second:
            await aio.fence.create_table(first)
            await first.commit()
            await aio.fence.sql(first, "orders:42", 6)
            late = asyncio.create_task(aio.fence.sql(second, "orders:42", 5))
            async with by_psycopg(postgres, schema) as watcher:
                await is_blocked(watcher, second.info.backend_pid)
            await first.commit()
            with pytest.raises(StaleToken):
                await late

    asyncio.run(main())


async def is_blocked(watcher: Any, pid: int) -> None:
    async with asyncio.timeout(20):
        while True:
            found = await watcher.execute("SELECT cardinality(pg_blocking_pids(%s))", (pid,))
            if (await found.fetchone())[0]:
                return


def test_connection_of_a_task_that_commits_each_statement_is_refused(
    postgres: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        async with by_psycopg(postgres, schema) as connection:
            await aio.fence.create_table(connection)
            await connection.commit()
            await connection.set_autocommit(True)
            with pytest.raises(UsageError, match="begin a transaction"):
                await aio.fence.sql(connection, "orders:42", 1)
            async with connection.transaction():
                await aio.fence.sql(connection, "orders:42", 2)

    asyncio.run(main())


def test_connection_of_the_other_world_is_refused(postgres: PostgresServer) -> None:
    async def main() -> None:
        for blocking in (sqlite3.connect(":memory:"),):
            with pytest.raises(TypeError, match="the other world"):
                await aio.fence.sql(blocking, "orders:42", 1)
            blocking.close()
        for connect in (by_psycopg, by_session, by_connection):
            async with connect(postgres, "") as connection:
                with pytest.raises(TypeError, match="the other world"):
                    fence.sql(connection, "orders:42", 1)

    asyncio.run(main())
