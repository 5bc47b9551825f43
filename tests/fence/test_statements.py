"""How statements are spelled for each driver, and which come in which order."""

from __future__ import annotations

import sqlite3
import sys
from types import ModuleType
from typing import Any

import pytest

from interlock import StaleToken, StoreUnavailable, UsageError, fence
from interlock.fence.checks import ADVANCE, BEGIN_ROW, BEGIN_ROW_IF_NEW, NEWEST, check_row
from interlock.fence.guard_table import spelled
from interlock.steps import Call

VALUES = {"resource": "r", "token": 7}


@pytest.mark.parametrize(
    ("style", "condition", "parameters"),
    [
        ("qmark", "token = ? WHERE resource = ? AND token <= ?", (7, "r", 7)),
        ("numeric", "token = :1 WHERE resource = :2 AND token <= :3", (7, "r", 7)),
        ("format", "token = %s WHERE resource = %s AND token <= %s", (7, "r", 7)),
        ("named", "token = :token WHERE resource = :resource AND token <= :token", VALUES),
        (
            "pyformat",
            "token = %(token)s WHERE resource = %(resource)s AND token <= %(token)s",
            VALUES,
        ),
    ],
)
def test_placeholders_are_those_of_the_driver(
    style: str, condition: str, parameters: object
) -> None:
    assert spelled(ADVANCE, VALUES, "t", style) == (f"UPDATE t SET {condition}", parameters)


class Wrapper:
    """A connection of a driver that the library does not know."""

    def __init__(self, **options: Any) -> None:
        self._connection = sqlite3.connect(":memory:", **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def check_a_few(connection: Any, **options: Any) -> None:
    fence.create_table(connection, **options)
    for token in (5, 5, 7):
        fence.sql(connection, "orders:42", token, **options)
    with pytest.raises(StaleToken):
        fence.sql(connection, "orders:42", 6, **options)
    connection.close()


def test_driver_that_says_nothing_needs_to_be_told() -> None:
    with pytest.raises(UsageError, match="pass paramstyle="):
        fence.sql(Wrapper(), "orders:42", 1)
    check_a_few(Wrapper(), paramstyle="qmark")
    check_a_few(Wrapper(), paramstyle="named")


def test_unknown_paramstyle_is_refused() -> None:
    with pytest.raises(UsageError, match="paramstyle must be one of"):
        fence.sql(Wrapper(), "orders:42", 1, paramstyle="dollar")


def test_driver_is_asked_for_its_paramstyle(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the module of the connection's class, or in a package around it."""
    driver: Any = ModuleType("somedriver")
    driver.paramstyle = "named"
    monkeypatch.setitem(sys.modules, "somedriver", driver)
    theirs = type("TheirConnection", (Wrapper,), {"__module__": "somedriver.connections.v2"})

    check_a_few(theirs())


def test_subclass_of_a_known_connection_is_known() -> None:
    check_a_few(sqlite3.connect(":memory:", factory=OurConnection))


class OurConnection(sqlite3.Connection):
    pass


def as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip([column[0] for column in cursor.description], row, strict=True))


@pytest.mark.parametrize("factory", [as_dict, sqlite3.Row])
def test_rows_may_be_made_as_the_caller_likes(factory: Any) -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = factory

    check_a_few(connection)


# --- by hand ------------------------------------------------------------------------------------


def answered(insert: Any, *replies: object) -> list[Any]:
    """What is asked, when these are the replies."""
    steps, asked = check_row(insert, "r", 7), []
    request: Any = next(steps)
    for reply in replies:
        assert isinstance(request, Call)
        asked.append(request.operation)
        try:
            request = steps.send(reply)
        except StopIteration:
            return asked
    pytest.fail(f"it asks for more: {request}")


def test_row_that_is_there_takes_one_statement() -> None:
    assert answered(BEGIN_ROW, 1) == [ADVANCE]


def test_first_row_takes_three() -> None:
    assert answered(BEGIN_ROW_IF_NEW, 0, None, 1) == [ADVANCE, NEWEST, BEGIN_ROW_IF_NEW]


def test_driver_that_counts_no_row_is_asked_for_the_token() -> None:
    """MySQL counts none where nothing changes, others never count: -1."""
    assert answered(BEGIN_ROW, 0, 7) == [ADVANCE, NEWEST]
    assert answered(BEGIN_ROW, -1, None, -1, -1, 7) == [
        *(ADVANCE, NEWEST, BEGIN_ROW),
        *(ADVANCE, NEWEST),
    ]


def test_row_that_another_transaction_inserted_first_is_looked_at_again() -> None:
    assert answered(BEGIN_ROW, 0, None, 0, 1)[-1] is ADVANCE
    with pytest.raises(StaleToken, match="9 has been seen"):
        answered(BEGIN_ROW, 0, None, 0, 0, 9)


def test_transaction_that_sees_an_older_row_is_not_let_through() -> None:
    with pytest.raises(StoreUnavailable, match="run the transaction again"):
        answered(BEGIN_ROW, *[0, 5] * 5)


class IntegrityError(Exception):
    """What DB-API drivers call it."""


class Collides(Wrapper):
    """Another transaction inserts the row right before this one does."""

    def cursor(self) -> Any:
        return CollidingCursor(self._connection.cursor())


class CollidingCursor(Wrapper):
    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._connection: Any = cursor

    def execute(self, text: str, parameters: Any) -> None:
        if text.startswith("INSERT"):
            self._connection.execute(text, (parameters[0], 9))
            raise IntegrityError("UNIQUE constraint failed")
        self._connection.execute(text, parameters)


def test_collision_is_no_error_but_a_row() -> None:
    connection = Collides()
    fence.create_table(connection, paramstyle="qmark")

    fence.sql(connection, "orders:42", 9, paramstyle="qmark")
    with pytest.raises(StaleToken):
        fence.sql(connection, "orders:43", 8, paramstyle="qmark")
    connection.close()
