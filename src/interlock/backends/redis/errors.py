"""What the server's errors mean for a lock, each in one sentence.  Pure.

The important distinction is whether the operation was executed: an error reply says that it
was not, so nothing has to be withdrawn.
"""

from __future__ import annotations

import re

from ...errors import (
    OutcomeUnknown,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    internal,
)
from ...ledger import OtherKind
from ...words import duration

_UNAVAILABLE = {
    "LOADING": "is still loading its data",
    "BUSY": "is busy with a script of another client",
    "MASTERDOWN": "is a replica that has lost its master",
    "READONLY": "is a read-only replica",
    "UNBLOCKED": "stopped being the primary before replicas confirmed what was written",
    "WAIT cannot be used with replica": "is a read-only replica",
    "CLUSTERDOWN": "belongs to a cluster that is down (see its CLUSTER INFO)",
    "TRYAGAIN": "is moving this name to another node",
    "NOREPLICAS": "does not have enough replicas to accept writes",
    "MISCONF": "refuses writes because it cannot save its data",
    "OOM": "is out of memory (maxmemory) and refuses writes",
    "max number of clients reached": "has no room for another client (maxclients)",
}

_MISCONFIGURED = {
    "NOPERM": "denies this user a command, key or channel that locks need (see the ACL in docs)",
    "NOAUTH": "requires a password; put it into the URL or pass password=",
    "unauthenticated": "requires a password; put it into the URL or pass password=",
    "WRONGPASS": "refused the user name or password; check both",
    "EXECABORT": "aborted the operation",
    "CROSSSLOT": "needs one slot for all keys of a name: use redis+cluster://, and no odd braces",
    "cluster support disabled": "is not in cluster mode; use redis:// for it",
}

# Servers have no code for a right that is missing inside a script; the words are those of 7.0,
# and those of 8.0 and of Valkey.
for _words in ("can't run this command", "ACL failure in script"):
    _MISCONFIGURED[_words] = _MISCONFIGURED["NOPERM"]

_CODES = re.compile(r"\b(" + "|".join([*_UNAVAILABLE, *_MISCONFIGURED, "WRONGTYPE"]) + r")\b")


#: What a server answers that may answer otherwise in a moment.
_PASSING = ("CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN", "READONLY")

#: What a server says to a client that has named no user at all; redis-py leaves out the code.
_UNKNOWN_USER = re.compile(r"NOAUTH|Authentication required|client already authenticated")

#: What restart_guard answers, with the milliseconds that are left.
_GUARDED = re.compile(r"GUARDED (\d+)")

_REDIRECTED = re.compile(r"(MOVED|ASK) (\d+) (.*):(\d+)")


@internal
class Refused(StoreUnavailable):
    """A server refused for the time being, and executed nothing."""

    #: The server's word for it.
    code = ""


@internal
class Redirected(Refused):
    """A node of a cluster says which node to ask, for good (MOVED) or this once (ASK)."""

    slot: int
    #: Host and port; no host means the one that was asked.
    where: tuple[str, int]


@internal
class Unreached(StoreUnavailable):
    """No connection could be made: nothing was asked."""


@internal
class Denied(StoreMisconfigured):
    """A right was missing in the middle of a script, which may have written before."""

    partial = True


def turned_away(text: str) -> str:
    """What an error reply of the handshake says of the user and the password."""
    return _MISCONFIGURED["NOAUTH" if _UNKNOWN_USER.search(text) else "WRONGPASS"]


def is_noscript(text: str) -> bool:
    """Whether the server does not know the script's text yet, and has done nothing."""
    return text.startswith("NOSCRIPT")


def from_reply(text: str, keys: tuple[str, ...], store: str) -> StoreError:
    """Turn an error reply of the server into an error for the caller."""
    if (redirection := _REDIRECTED.match(text)) is not None:
        return _redirected(redirection, store)
    if (guarded := _GUARDED.match(text)) is not None:
        return StoreUnavailable(_guarded(int(guarded.group(1)) / 1000, store), store)
    found = _CODES.search(text)
    code = found.group(1) if found else ""
    if code == "WRONGTYPE":
        name = keys[0] if keys else "?"
        return OtherKind(
            f"{name!r} is already another kind of key on {store}, so it cannot be this kind "
            "of lock; nothing was touched: choose another name",
            store,
        )
    if code in _UNAVAILABLE:
        return _unavailable(code, store)
    if code in _MISCONFIGURED:
        kind = Denied if "user_script" in text else StoreMisconfigured
        return kind(f"{store} {_MISCONFIGURED[code]}", store)
    return StoreError(f"{store} answered: {text}", store)


def _guarded(left: float, store: str) -> str:
    return (
        f"{store} has restarted or was replaced, and may have forgotten leases that still stand: "
        f"it grants nothing for another {duration(left)} (restart_guard); try again then"
    )


def _unavailable(code: str, store: str) -> StoreUnavailable:
    if code not in _PASSING:
        return StoreUnavailable(f"{store} {_UNAVAILABLE[code]}", store)
    refused = Refused(f"{store} {_UNAVAILABLE[code]}", store)
    refused.code = code
    return refused


def _redirected(found: re.Match[str], store: str) -> Redirected:
    code, slot, host, port = found.groups()
    error = Redirected(
        f"{store} is a node of a cluster, and another node keeps this name: use redis+cluster://",
        store,
    )
    error.code, error.slot, error.where = code, int(slot), (host, int(port))
    return error


def not_sent(cause: BaseException, store: str) -> StoreError:
    """The connection could not be made: nothing was asked."""
    return Unreached(f"cannot reach {store}: {_reason(cause)}", store)


def foreign(data: bytes, store: str, replied: bool, reached: bool) -> StoreError:
    """What came in place of a reply is none of Redis's; its first line says what it is.

    A connection that never brought a reply leads to something else, which has executed nothing;
    and where no Redis server was ever reached, asking again is of no use.
    """
    line = data.partition(b"\n")[0].rstrip(b"\r")[:80]
    text = f"{store} answered {line.decode('latin-1')!r}: is that a Redis server?"
    return OutcomeUnknown(text, store) if replied else StoreUnavailable(text, store, not reached)


def not_answered(cause: BaseException | str, store: str) -> StoreError:
    """The question went out and no answer came back."""
    reason = cause if isinstance(cause, str) else _reason(cause)
    return OutcomeUnknown(f"{store} did not answer: {reason}", store)


def _reason(cause: BaseException) -> str:
    if isinstance(cause, TimeoutError):
        return "timed out"
    return str(cause) or type(cause).__name__
