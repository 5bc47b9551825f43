"""The guard in Redis: a key beside the data, checked by a script that can also write the data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from ..errors import StaleToken, UsageError
from ..model import Seconds, as_seconds
from ..steps import Steps, call
from ..words import given, shown
from .tokens import Token, checked_resource, checked_token


class ScriptingClient(Protocol):
    """A client of redis-py or valkey-py, of one server, by Sentinels or of a cluster."""

    def register_script(self, script: Any) -> Any: ...


def guard_key(resource: str) -> str:
    """Where the newest token of a resource is.

    The resource is its own hash tag unless it has a brace: in a cluster the guard of `orders:42`
    is in the slot of the key `orders:42`, and of all keys with `{orders:42}` in their names.
    """
    if "{" in resource:
        return f"interlock:fence:tagged:{resource}"
    return f"interlock:fence:{{{resource}}}"


@cache
def _script() -> bytes:
    return files("interlock.fence").joinpath("guard_key.lua").read_bytes()


def check_key(
    client: ScriptingClient,
    resource: str,
    token: Token,
    commands: Sequence[Sequence[Any]],
    remember: Seconds | None,
    awaited: bool,
) -> Steps[list[Any]]:
    """Check a token, and perform commands if it is not stale.  Cost: one round trip."""
    name, number, script = checked_resource(resource), checked_token(token), _script()
    args = [str(number), _remember_ms(remember)]
    for each in commands:
        args += _words(each)
    _check_world(client, awaited)
    return _perform(client.register_script(script), name, number, args)


def _perform(script: Any, resource: str, token: int, args: list[Any]) -> Steps[list[Any]]:
    reply: list[Any] = yield from call(script, (), ([guard_key(resource)], args), math.inf)
    if not reply[0]:
        raise StaleToken(resource, token, int(reply[1]))
    return reply[1:]


def _remember_ms(remember: Seconds | None) -> str:
    if remember is None:
        return "0"
    milliseconds = int(as_seconds("remember", remember) * 1000)
    if milliseconds < 1:
        raise UsageError(f"remember must be at least a millisecond, not {shown(remember)}")
    return str(milliseconds)


def _words(command: Any) -> list[Any]:
    """A command, with how many words it has before it."""
    if isinstance(command, (str, bytes)) or not isinstance(command, Sequence):
        raise TypeError(
            f"a command must be a tuple such as ('SET', 'orders:42', 'shipped'), "
            f"not {given(command)}"
        )
    if not command:
        raise UsageError("a command must not be empty")
    return [str(len(command)), *command]


def _check_world(client: Any, awaited: bool) -> None:
    """Refuse what has no scripts, queues its commands, or belongs to the other world."""
    if not hasattr(client, "register_script"):
        raise TypeError(f"client must be a client of redis-py or valkey-py, not {given(client)}")
    if any(kind.__name__.endswith("Pipeline") for kind in type(client).__mro__):
        raise TypeError(
            "client must not be a pipeline, which answers only later: "
            "pass its client, and the commands behind the token"
        )
    if inspect.iscoroutinefunction(client.execute_command) is not awaited:
        right = "interlock.fence.redis(...)" if awaited else "await interlock.aio.fence.redis(...)"
        raise TypeError(f"client belongs to the other world: say {right} with it")
