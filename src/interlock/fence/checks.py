"""How a token is checked, as steps: both worlds drive the same.

Each guard remembers the newest token that its resource has seen.  A check refuses an older one,
lets an equal one pass (the same holder writes again), and remembers a newer one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import StoreUnavailable
from ..steps import Call, Reply, Steps, call
from .tokens import checked_token, refuse_stale

#: How often a row may change between two looks at it.
LOOKS = 5


class Statement(NamedTuple):
    """SQL with named placeholders, and what is wanted of it: a value, or how many rows."""

    text: str
    fetches: bool = False


# The row stays locked until the caller's transaction ends: another token waits for that, and is
# compared with what was committed.
ADVANCE = Statement(
    "UPDATE {table} SET token = :token WHERE resource = :resource AND token <= :token"
)
NEWEST = Statement("SELECT token FROM {table} WHERE resource = :resource", fetches=True)
BEGIN_ROW = Statement("INSERT INTO {table} (resource, token) VALUES (:resource, :token)")

#: Keeps the transaction alive where another one has inserted the row first.
BEGIN_ROW_IF_NEW = Statement(f"{BEGIN_ROW.text} ON CONFLICT DO NOTHING")


def check_row(insert: Statement, resource: str, token: int) -> Steps[None]:
    """Check a token in the row of its resource.

    Cost: one statement; three for a resource that has no row yet, two for a stale token.
    """
    values = {"resource": resource, "token": token}
    for _ in range(LOOKS):
        if (yield from _ask(ADVANCE, values)) == 1:
            return
        newest = yield from _ask(NEWEST, values)
        refuse_stale(resource, token, newest)
        if newest == token:
            return  # the driver counts no row that keeps its value, or counts none at all
        if newest is None and (yield from _ask(insert, values)) == 1:
            return
    raise StoreUnavailable(
        f"the guard of {resource!r} changed at each of {LOOKS} looks, or this transaction sees it "
        "as it was before: roll back, and run the transaction again"
    )


def compare_and_set(
    resource: str, token: int, read: Callable[..., Any], write: Callable[..., Any], tries: int
) -> Steps[None]:
    """Check a token by hooks of the caller's.  Cost: one `read` and one `write` for each try."""
    for _ in range(tries):
        newest, version = yield from _ask(read)
        refuse_stale(resource, token, _number(newest))
        if (yield from _ask(write, token, version)):
            return
    raise StoreUnavailable(
        f"{resource!r} was changed by other writers at each of {tries} tries; try again, or give "
        "more tries="
    )


def _number(newest: Any) -> int | None:
    return None if newest is None else checked_token(newest, "the token that read() answers")


def _ask(operation: Any, *args: Any) -> Steps[Any]:
    return call(operation, (), args, math.inf)


class Functions:
    """A link whose operations are functions of the caller's."""

    def call(self, request: Call) -> Reply:
        return request.operation(*request.args)


class AsyncFunctions:
    """The same, awaited."""

    async def call(self, request: Call) -> Reply:
        return await request.operation(*request.args)
