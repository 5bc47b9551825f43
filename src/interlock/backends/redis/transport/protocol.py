"""The bytes on a connection: calls packed, replies read.  hiredis does both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import hiredis

from ....steps import Call

_pack: Callable[[tuple[Any, ...]], bytes] = hiredis.pack_command

#: Seconds that a listener waits for its subscription; it goes on all the same.
SUBSCRIBE_TIMEOUT = 2.0

#: What a reader answers while a reply is incomplete.
INCOMPLETE: Any = object()


def new_reader() -> Any:
    return hiredis.Reader(notEnoughData=INCOMPLETE)


def packed(request: Call, whole: bool = False) -> bytes:
    """The bytes of a call; `whole` sends the script's text in place of its SHA-1."""
    script, keys, args = request.operation, request.keys, request.args
    verb, body = ("EVAL", script.text) if whole else ("EVALSHA", script.sha)
    return _pack((verb, body, len(keys), *keys, *args))


def packed_together(requests: Sequence[Call]) -> bytes:
    """The bytes of calls to a server that may know none of their scripts: the text of each is sent
    once."""
    taught: set[Any] = set()
    message = bytearray()
    for each in requests:
        message += packed(each, whole=each.operation not in taught)
        taught.add(each.operation)
    return bytes(message)


def command(*words: str) -> bytes:
    return _pack(words)


# --- clusters -----------------------------------------------------------------------------------

#: Lets a node of a cluster answer the next command for a slot that is just moving there.
ASKING = command("ASKING")

#: Whether a channel is one of a slot: only the nodes of the slot pass its messages on.
Sharded: TypeAlias = Callable[[str], bool]


def never(channel: str) -> bool:
    """On a single server every channel is of the whole server."""
    return False
