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


#: How many bytes an argument takes that is empty.
_EMPTY = len(b"$0\r\n\r\n")


def new_reader() -> Any:
    return hiredis.Reader(notEnoughData=INCOMPLETE)


def packed(request: Call, whole: bool = False) -> bytes:
    """The bytes of a call; `whole` sends the script's text in place of its SHA-1."""
    script, keys, args = request.operation, request.keys, request.args
    verb, body = ("EVAL", script.text) if whole else ("EVALSHA", script.sha)
    return _pack((verb, body, len(keys), *keys, *args))


def alike(one: Call, other: Call) -> bool:
    """Whether two calls were made of the same parts, so that their bytes are the same."""
    return one.args is other.args and one.keys is other.keys and one.operation is other.operation


def packed_for(data: bytes, request: Call, run: bytes) -> bytes:
    """The bytes of a call for one of several servers that are all asked the same: of which run it
    is goes into the last argument, which is empty."""
    return data[:-_EMPTY] + run if run and request.operation.wants_run else data


def run_told(request: Call, reply: Any) -> bytes:
    """The run id of a server that has told it, as it is sent; nothing where it has not."""
    if request.operation.wants_run and isinstance(reply, list):
        return b"$%d\r\n%b\r\n" % (len(reply[1]), reply[1])
    return b""


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
