"""Which private parts of kazoo differ, in the version that is installed, from what
`kazoo_private` uses; its docstring is the list in words."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from kazoo.protocol import serialization

from .kazoo_private import BatchingConnection

#: Kazoo's connection, which the batching one extends.
ConnectionHandler: Any = BatchingConnection.__base__

#: The methods that `BatchingConnection` replaces, each with one that calls it.
REPLACED = {
    "_connect_attempt": "_connect_loop",
    "_expand_client_hosts": "_connect_loop",
    "_invoke": "_connect",
    "_read": "_read_header",
    "_read_socket": "_connect_attempt",
    "_send_ping": "_connect_attempt",
    "_send_request": "_connect_attempt",
    "_submit": "_invoke",
    "_write": "_submit",
}

_FIELDS = {
    "Create2": ("path", "data", "acl", "flags"),
    "Delete": ("path", "version"),
    "Exists": ("path", "watcher"),
    "GetChildren": ("path", "watcher"),
    "GetData": ("path", "watcher"),
    "SetData": ("path", "data", "version"),
    "Sync": ("path",),
}


def _has_fields(name: str, fields: tuple[str, ...], client: Any) -> bool:
    request = getattr(serialization, name)
    return request._fields == fields and isinstance(request.type, int)


def _has_parameters(function: Any, *names: str) -> bool:
    return [*inspect.signature(function).parameters] == [*names]


def _is_replaceable(name: str, caller: str, client: Any) -> bool:
    """Whether a method is called in the same way as ours, where we expect it to be called."""
    theirs, ours = getattr(ConnectionHandler, name), getattr(BatchingConnection, name)
    return (
        _has_parameters(theirs, *inspect.signature(ours).parameters)
        and name in getattr(ConnectionHandler, caller).__code__.co_names
    )


def _is_connection(client: Any) -> bool:
    facts = ("retry_sleeper", "logger", "sasl_options")
    return (
        type(client._connection) is ConnectionHandler
        and all(hasattr(client._connection, fact) for fact in facts)
        and _has_parameters(ConnectionHandler, "client", *facts)
    )


def _starts_loop(client: Any) -> bool:
    """Whether the start makes a pair of sockets, and spawns the loop by its name."""
    expected = {"create_socket_pair", "spawn", "zk_loop"}
    return expected <= {*ConnectionHandler.start.__code__.co_names}


#: What both loops need, and what the batching one needs as well: whether a client has each.
BASICS: dict[str, Callable[[Any], bool]] = {
    "KazooClient._call": lambda client: _has_parameters(client._call, "request", "async_object"),
    **{f"serialization.{each}": partial(_has_fields, each, _FIELDS[each]) for each in _FIELDS},
}
BATCHING: dict[str, Callable[[Any], bool]] = {
    "KazooClient._connection": _is_connection,
    "KazooClient._pending": lambda client: type(client._pending) is deque,
    "KazooClient._queue": lambda client: type(client._queue) is deque,
    "KazooClient._stopped": lambda client: callable(client._stopped.set),
    "ConnectionHandler.start": _starts_loop,
    **{
        f"ConnectionHandler.{each}": partial(_is_replaceable, each, caller)
        for each, caller in REPLACED.items()
    },
    "serialization.Auth": lambda client: isinstance(serialization.Auth.type, int),
    "serialization.CloseInstance": lambda client: callable(serialization.CloseInstance.serialize),
    "serialization.Connect": lambda client: "time_out" in serialization.Connect._fields,
}


def changed_parts(client: Any, parts: dict[str, Callable[[Any], bool]]) -> list[str]:
    """Those of the parts that are missing, or of another shape, in a client not yet started."""
    return [name for name, expected in parts.items() if not _is_met(expected, client)]


def _is_met(expected: Callable[[Any], bool], client: Any) -> bool:
    try:
        return expected(client)
    except (AttributeError, TypeError, ValueError):
        return False
