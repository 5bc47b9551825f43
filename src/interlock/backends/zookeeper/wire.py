"""What a ZooKeeper server can be asked, and how its answers are read.

Requests are plain data, as everything that steps yield.  `packed` makes kazoo's own requests of
them; kazoo has no container nodes, so the request that makes one is ours.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from kazoo import exceptions
from kazoo.protocol import serialization as protocol

from ...errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable

#: How a node is made; one that is persistent stays when its session ends.
PERSISTENT, EPHEMERAL, SEQUENTIAL, CONTAINER = 0, 1, 2, 4

#: "Whatever the version is."
ANY = -1


class Create(NamedTuple):
    """Make a node; answered with its path and its stat."""

    path: str
    data: bytes = b""
    flags: int = EPHEMERAL | SEQUENTIAL


class Container(NamedTuple):
    """Make a node that the server takes away some time after its last child has gone."""

    path: str
    data: bytes = b""


class Delete(NamedTuple):
    """Take a node away; if nobody awaits the answer, it is asked for until there is one."""

    path: str
    version: int = ANY
    awaited: bool = True


class Put(NamedTuple):
    """Write what a node holds."""

    path: str
    data: bytes
    version: int = ANY


class Children(NamedTuple):
    """List a directory; a change of the list wakes whoever listens to `topic`."""

    path: str
    topic: Any = None


class Get(NamedTuple):
    """Read a node and its stat; a change of it wakes whoever listens to `topic`."""

    path: str
    topic: Any = None


class Exists(NamedTuple):
    """The stat of a node, MISSING without one; whatever becomes of it wakes `topic`."""

    path: str
    topic: Any = None


class Sync(NamedTuple):
    """Be answered by the leader, after everything that it has decided so far."""

    path: str
    #: Otherwise only if the leader has not answered us for a while.
    always: bool = True


Ask: TypeAlias = Create | Container | Delete | Put | Children | Get | Exists | Sync

WRITES = (Create, Container, Delete, Put)

#: What the leader answers, and no follower alone.
LED = (*WRITES, Sync)


def awaited(ask: Ask) -> bool:
    """Whether anybody wants to know what becomes of it."""
    return not isinstance(ask, Delete) or ask.awaited


class No(Enum):
    """Answers that say no, and are no failures."""

    MISSING = "there is no such node"
    THERE = "there is such a node already"
    PARENT = "the node has children"
    CHANGED = "the node has changed meanwhile"


class Answer(NamedTuple):
    """What the server said, and in which session it was said."""

    value: Any
    session: int


class _CreateContainer(protocol.Create2):  # type: ignore[misc]
    """Like any create, but of another type."""

    type = 19


def packed(ask: Ask, acl: Any, watcher: Any) -> Any:
    """The request as kazoo sends it."""
    path = ask.path
    if isinstance(ask, Create):
        return protocol.Create2(path, ask.data, acl, ask.flags)
    if isinstance(ask, Children):
        return protocol.GetChildren(path, watcher if ask.topic else None)
    if isinstance(ask, Delete):
        return protocol.Delete(path, ask.version)
    if isinstance(ask, Get):
        return protocol.GetData(path, watcher if ask.topic else None)
    if isinstance(ask, Exists):
        return protocol.Exists(path, watcher if ask.topic else None)
    if isinstance(ask, Put):
        return protocol.SetData(path, ask.data, ask.version)
    if isinstance(ask, Container):
        return _CreateContainer(path, ask.data, acl, CONTAINER)
    return protocol.Sync(path)


def unpacked(value: Any) -> Any:
    """What the server said; of a node that does not exist kazoo says nothing."""
    return No.MISSING if value is None else value


_NO: dict[type[Exception], No] = {
    exceptions.NoNodeError: No.MISSING,
    exceptions.NodeExistsError: No.THERE,
    exceptions.NotEmptyError: No.PARENT,
    exceptions.BadVersionError: No.CHANGED,
}

#: The connection broke, or the session ended, before an answer came.
_CUT = (
    exceptions.ConnectionLoss,
    exceptions.SessionExpiredError,
    exceptions.SessionMovedError,
    exceptions.OperationTimeoutError,
    exceptions.ConnectionDropped,
    exceptions.ConnectionClosedError,
)


#: The servers do not believe that we are who we say, or want to know it first.
_DISBELIEF = (exceptions.AuthFailedError, exceptions.SessionClosedRequireSaslError)


def judged(ask: Ask, error: BaseException, store: str) -> No | StoreError:
    """Make sense of an error: it is an answer, or says whether the question was executed."""
    no = _NO.get(type(error))  # type: ignore[arg-type]
    if no is not None:
        return no
    if isinstance(error, _CUT):
        return unanswered(ask, store, "the connection to the server broke")
    if isinstance(error, exceptions.NoAuthError):
        return _denied(ask, store)
    if isinstance(error, exceptions.InvalidACLError):
        return StoreMisconfigured(f"{store} refused the rights that acl= gives", store)
    if isinstance(error, _DISBELIEF):
        return disbelieved(store)
    kind = type(error).__name__
    return StoreError(f"{store} refused to {_VERBS[type(ask)]} {ask.path}: {kind} {error}", store)


def disbelieved(store: str) -> StoreMisconfigured:
    """What to say when the servers do not believe that we are who we say."""
    return StoreMisconfigured(
        f"{store} refused our credentials: look at the user, the password, auth= and sasl=",
        store,
        final=True,
    )


def _denied(ask: Ask, store: str) -> StoreMisconfigured:
    """To make or to delete a node is a right on its directory."""
    right, path = _RIGHTS.get(type(ask), "READ"), ask.path
    if right in ("CREATE", "DELETE"):
        path = path.rpartition("/")[0] or "/"
    return StoreMisconfigured(
        f"the ACL of {path} denies this client the right {right}: connect as somebody who has it, "
        "as user:password@ in the URL, or change the ACL, for Java and Python alike",
        store,
    )


_RIGHTS: dict[type[Any], str] = {
    Create: "CREATE",
    Container: "CREATE",
    Delete: "DELETE",
    Put: "WRITE",
}

_VERBS: dict[type[Any], str] = {
    Create: "make a node in",
    Container: "make",
    Delete: "delete",
    Put: "write",
    Children: "list",
    Get: "read",
    Exists: "look at",
    Sync: "read",
}


def unanswered(ask: Ask, store: str, why: str) -> StoreError:
    """No answer came: of something that was to be read nothing is left behind."""
    kind = OutcomeUnknown if isinstance(ask, WRITES) else StoreUnavailable
    return kind(f"{why}, so it is not known what became of {ask.path}", store)
