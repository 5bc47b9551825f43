"""The asyncio names of `interlock.fence`: `await interlock.aio.fence.sql(...)`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..drive import arun
from ..model import Seconds, checked_count
from . import checks
from . import create_table as create_table_now
from . import sql as check_row_now
from .guard_file import Content, check_file
from .guard_key import ScriptingClient, check_key
from .guard_table import TABLE, AsyncDbapiLink, is_sqlalchemy, make_table, synchronously
from .tokens import Token, checked_resource, checked_token

__all__ = ["compare_and_set", "create_table", "file", "redis", "sql"]

#: What awaits functions of the caller's.
_FUNCTIONS: Any = checks.AsyncFunctions()


async def redis(
    client: ScriptingClient,
    resource: str,
    token: Token,
    *commands: Sequence[Any],
    remember: Seconds | None = None,
) -> list[Any]:
    """Raise StaleToken if a newer token of this resource has been seen; else perform `commands`.

    `client` is one of redis-py or valkey-py: of one server, by Sentinels or of a cluster.  Each
    command is a tuple such as `("HSET", "orders:42", "state", "shipped")`; check and commands are
    one script, so that no other holder comes in between.  Answers what each command has answered.
    If one of them fails, those before it have been performed, as in every script.
    In a cluster the guard is in the slot of a key that is named like the resource.
    `remember` forgets the resource so many seconds after its last check; it must be longer than
    any holder can be paused.  None remembers it for ever.
    What the client raises goes through; after a lost answer it is not known what was performed.
    Cost: one round trip; two more when a server hears of the script for the first time.
    """
    link = _FUNCTIONS
    return await arun(check_key(client, resource, token, commands, remember, awaited=True), link)


async def sql(
    connection: Any,
    resource: str,
    token: Token,
    *,
    table: str = TABLE,
    paramstyle: str | None = None,
) -> None:
    """Raise StaleToken if a newer token of this resource has been seen, in your transaction.

    `connection` is that of a DB-API driver, or a connection or session of SQLAlchemy.  Call it in
    the transaction that writes, before the write: the row of the resource in the guard table (see
    `create_table`) stays locked until the transaction ends, so that other holders wait, and what
    they see is what was committed.  A rollback takes the token back with the write.
    `paramstyle` is for drivers that do not say how they spell placeholders.
    Cost: one statement; three for a resource that has no row yet, two for a stale token.
    """
    name, number = checked_resource(resource), checked_token(token)
    if is_sqlalchemy(connection):
        await synchronously(
            connection, partial(check_row_now, resource=name, token=number, table=table)
        )
        return
    link: Any = AsyncDbapiLink(connection, table, paramstyle)
    await arun(checks.check_row(link.insertion, name, number), link)
    link.check_transaction()


async def create_table(
    connection: Any, *, table: str = TABLE, paramstyle: str | None = None
) -> None:
    """Make the guard table of `sql`, unless there is one.  The caller commits.

    Its columns are `resource`, the primary key, and `token`.
    Cost: one statement, two with PostgreSQL.
    """
    if is_sqlalchemy(connection):
        await synchronously(connection, partial(create_table_now, table=table))
        return
    link: Any = AsyncDbapiLink(connection, table, paramstyle)
    await arun(make_table(link.dialect), link)


async def file(
    path: str | os.PathLike[str],
    token: Token,
    content: Content | None = None,
    *,
    timeout: Seconds | None = 10.0,
) -> None:
    """Raise StaleToken if a newer token of this file has been seen; else replace its content.

    `content` is bytes, text or a function that writes to the file that it is given; without it
    the token is only checked and remembered.  The file is replaced at once: readers see the old
    one or the new one, whatever happens.  The newest token is in `<path>.fence`, which is locked
    by `<path>.fence.lock` meanwhile; AcquireTimeout is raised where that takes longer than
    `timeout`, because another writer is paused in the middle of it.
    Cost: no round trip; an fsync of each file that changes, and of its folder.
    """
    cancelled: list[bool] = []
    work = asyncio.to_thread(check_file, path, token, content, timeout, lambda: bool(cancelled))
    writing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        cancelled.append(True)
        await _end(writing)
        raise


async def _end(writing: asyncio.Future[None]) -> None:
    """See a write end that was cancelled: it is either done or not begun."""
    while not writing.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([writing])
    if not writing.cancelled():
        writing.exception()


async def compare_and_set(
    resource: str,
    token: Token,
    read: Callable[[], Any],
    write: Callable[[int, Any], Any],
    *,
    tries: int = 10,
) -> None:
    """Raise StaleToken if a newer token of this resource has been seen; else let `write` write.

    For S3 and all stores that write only if a version is still the same.  `read()` answers the
    token that is there, None if there is none, and the version: `(token, etag)`.
    `write(token, etag)` writes the data with this token if the version is still that one, and
    answers whether it was; if not, both are called again, up to `tries` times, and then
    StoreUnavailable is raised.
    Cost: one `read` and one `write` for each try.
    """
    name, number = checked_resource(resource), checked_token(token)
    steps = checks.compare_and_set(name, number, read, write, checked_count("tries", tries))
    await arun(steps, _FUNCTIONS)
