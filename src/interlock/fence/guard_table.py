"""The guard in a database: a row for each resource, checked in the caller's own transaction."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import UsageError
from ..model import checked_text
from ..steps import Call, Reply, Steps, call
from ..words import given, shown
from .checks import BEGIN_ROW, BEGIN_ROW_IF_NEW, Statement

#: What the guard table is called unless the caller says otherwise.
TABLE = "interlock_fence"

#: Which database a driver is for, by the package of its connections.
_DIALECTS = {
    **dict.fromkeys(("sqlite3", "pysqlite3", "sqlcipher3"), "sqlite"),
    **dict.fromkeys(("psycopg", "psycopg2", "psycopg2cffi", "pg8000"), "postgresql"),
}

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)
_PLACEHOLDER = re.compile(r":(\w+)")

_PARAMSTYLES = ("qmark", "numeric", "named", "format", "pyformat")

#: Two processes that make one table at the same time fail in PostgreSQL, with or without IF NOT
#: EXISTS, unless one waits for the other.
_ONE_AT_A_TIME = Statement("SELECT pg_advisory_xact_lock(1768711019)", fetches=True)

AUTOCOMMIT = (
    "this connection commits each statement by itself, so that the check of the token and the "
    "write would be two steps, with room for another holder in between: begin a transaction "
    "before fence.sql, and commit it after the write"
)

OTHER_WORLD = (
    "connection belongs to the other world: interlock.fence is for blocking connections, "
    "interlock.aio.fence, awaited, for those of asyncio"
)


def table_statements(dialect: str) -> list[Statement]:
    """What makes the guard table, if there is none."""
    kind = "TEXT" if dialect else "VARCHAR(255)"  # others want to know how long a key is
    columns = f"resource {kind} NOT NULL PRIMARY KEY, token BIGINT NOT NULL"
    create = Statement(f"CREATE TABLE IF NOT EXISTS {{table}} ({columns})")
    return [_ONE_AT_A_TIME, create] if dialect == "postgresql" else [create]


def make_table(dialect: str) -> Steps[None]:
    """Make the guard table.  Cost: one statement, two with PostgreSQL."""
    for statement in table_statements(dialect):
        yield from call(statement, (), (), math.inf)


def insertion(dialect: str) -> Statement:
    """How a row is begun."""
    return BEGIN_ROW_IF_NEW if dialect else BEGIN_ROW


def checked_table(table: object) -> str:
    """The name of a table, which becomes part of a statement."""
    name = checked_text("table", table)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"table must be a plain name such as 'interlock_fence' or 'app.fence', "
            f"not {shown(table)}"
        )
    return name


# --- which connection it is -----------------------------------------------------------------


def is_sqlalchemy(connection: object) -> bool:
    return "sqlalchemy" in _packages(connection)


def dialect_of(connection: object) -> str:
    """Which database it is: "sqlite", "postgresql" or "" for any other."""
    return next((_DIALECTS[each] for each in _packages(connection) if each in _DIALECTS), "")


def _packages(connection: object) -> list[str]:
    return [kind.__module__.partition(".")[0] for kind in type(connection).__mro__]


def paramstyle_of(connection: object, given_style: str | None) -> str:
    """How the driver of a connection spells placeholders."""
    style = given_style
    if style is None:
        style = next((each for each in _told_styles(connection)), None)
    if style is None:
        raise UsageError(
            f"the driver of {given(connection)} does not say how it spells placeholders: "
            f"pass paramstyle=, one of {', '.join(_PARAMSTYLES)}"
        )
    if style not in _PARAMSTYLES:
        raise UsageError(
            f"paramstyle must be one of {', '.join(_PARAMSTYLES)}, not {shown(style)}"
        )
    return style


def _told_styles(connection: object) -> Iterator[str]:
    """What the modules of a driver say, the nearest first."""
    for kind in type(connection).__mro__:
        name = kind.__module__
        while name:
            style = getattr(sys.modules.get(name), "paramstyle", None)
            if isinstance(style, str):
                yield style
            name = name.rpartition(".")[0]


def check_transaction(connection: Any) -> None:
    """Raise UsageError where a statement was just committed by itself, as far as drivers tell."""
    is_open = getattr(connection, "in_transaction", None)
    status = getattr(getattr(connection, "info", None), "transaction_status", None)
    if is_open is False or (isinstance(status, int) and status == 0):
        raise UsageError(AUTOCOMMIT)


# --- how statements are spelled -------------------------------------------------------------


def spelled(
    statement: Statement, values: Mapping[str, Any], table: str, style: str
) -> tuple[str, Any]:
    """A statement and its parameters, as a driver takes them."""
    order: list[str] = []

    def placeholder(found: re.Match[str]) -> str:
        name = found[1]
        order.append(name)
        marks = {"qmark": "?", "format": "%s", "pyformat": f"%({name})s", "named": f":{name}"}
        return marks.get(style) or f":{len(order)}"

    text = _PLACEHOLDER.sub(placeholder, statement.text.format(table=table))
    if style in ("named", "pyformat"):
        return text, {name: values[name] for name in order}
    return text, tuple(values[name] for name in order)


def first(row: Any) -> Any:
    """The only value of a row, whatever the row is; None where there is no row."""
    if row is None:
        return None
    return next(iter(row.values())) if isinstance(row, Mapping) else row[0]


def values_of(request: Call) -> Mapping[str, Any]:
    return request.args[0] if request.args else {}


# --- the links ------------------------------------------------------------------------------


class DbapiLink:
    """A connection of a DB-API driver, in the transaction that it is in."""

    _awaited = False

    def __init__(self, connection: Any, table: str, style: str | None) -> None:
        self.connection, self._table = connection, checked_table(table)
        if not hasattr(connection, "cursor"):
            raise TypeError(
                f"connection must be that of a DB-API driver, or a connection or session of "
                f"SQLAlchemy, not {given(connection)}"
            )
        if inspect.iscoroutinefunction(getattr(connection, "commit", None)) is not self._awaited:
            raise TypeError(OTHER_WORLD)
        self.dialect, self._style = dialect_of(connection), paramstyle_of(connection, style)
        self.insertion = insertion(self.dialect)

    def spelled(self, request: Call) -> tuple[str, Any]:
        return spelled(request.operation, values_of(request), self._table, self._style)

    def call(self, request: Call) -> Reply:
        cursor = self.connection.cursor()
        try:
            cursor.execute(*self.spelled(request))
            return first(cursor.fetchone()) if request.operation.fetches else cursor.rowcount
        except Exception as error:
            if collided(error, request):
                return 0
            raise
        finally:
            cursor.close()

    def check_transaction(self) -> None:
        check_transaction(self.connection)


def collided(error: Exception, request: Call) -> bool:
    """Whether a row could not be inserted because it is there by now."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return request.operation is BEGIN_ROW and "IntegrityError" in names


class AsyncDbapiLink(DbapiLink):
    """A connection of an asyncio driver whose cursors are those of the DB-API, awaited."""

    _awaited = True

    async def call(self, request: Call) -> Reply:
        cursor = self.connection.cursor()
        try:
            await cursor.execute(*self.spelled(request))
            fetches = request.operation.fetches
            return first(await cursor.fetchone()) if fetches else cursor.rowcount
        except Exception as error:
            if collided(error, request):
                return 0
            raise
        finally:
            await cursor.close()


class SqlAlchemyLink:
    """A connection, or the connection of a session, of SQLAlchemy."""

    def __init__(self, connection: Any, table: str) -> None:
        self._table = checked_table(table)
        if hasattr(connection, "run_sync"):
            raise TypeError(OTHER_WORLD)
        if not hasattr(connection, "execute"):
            raise TypeError(
                f"connection must be a connection or a session, whose transaction has the write "
                f"as well, not {given(connection)}"
            )
        is_session = callable(connection.connection)
        self.connection = connection.connection() if is_session else connection
        name = self.connection.dialect.name
        self.dialect = name if name in _DIALECTS.values() else ""
        self.insertion = insertion(self.dialect)

    def call(self, request: Call) -> Reply:
        from sqlalchemy import text  # here, because only those who use it have it

        statement = text(request.operation.text.format(table=self._table))
        try:
            result = self.connection.execute(statement, dict(values_of(request)))
        except Exception as error:
            if collided(error, request):
                return 0
            raise
        return result.scalar() if request.operation.fetches else result.rowcount

    def check_transaction(self) -> None:
        check_transaction(self.connection.connection.driver_connection)


def link_to(connection: Any, table: str, style: str | None) -> DbapiLink | SqlAlchemyLink:
    """The link for a connection of the blocking world."""
    if is_sqlalchemy(connection):
        return SqlAlchemyLink(connection, table)
    return DbapiLink(connection, table, style)


async def synchronously(connection: Any, work: Callable[[Any], None]) -> None:
    """Do something with what is blocking behind an asyncio connection or session."""
    if not hasattr(connection, "run_sync"):
        raise TypeError(OTHER_WORLD)
    await connection.run_sync(work)
