"""What turns the failures of kazoo, and of sockets, into ours."""

from __future__ import annotations

import ssl
from typing import Any

from kazoo import exceptions

from ...errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from .transport.requests import (
    WRITES,
    Children,
    Container,
    Create,
    Delete,
    Exists,
    Get,
    Put,
    Refusal,
    Sync,
    ZkRequest,
)

_REFUSALS: dict[type[BaseException], Refusal] = {
    exceptions.NoNodeError: Refusal.MISSING,
    exceptions.NodeExistsError: Refusal.THERE,
    exceptions.NotEmptyError: Refusal.PARENT,
    exceptions.BadVersionError: Refusal.CHANGED,
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

#: The servers refuse our credentials, or want to see some first; older kazoos lack the second.
_CREDENTIALS = tuple(
    getattr(exceptions, name)
    for name in ("AuthFailedError", "SessionClosedRequireSaslError")
    if hasattr(exceptions, name)
)


def reply_of_error(request: ZkRequest, error: BaseException, store: str) -> Refusal | StoreError:
    """Make sense of an error: it is an answer, or says whether the request was executed."""
    refusal = _REFUSALS.get(type(error))
    if refusal is not None:
        return refusal
    if isinstance(error, _CUT):
        return unanswered(request, store, "the connection to the server broke")
    if isinstance(error, exceptions.NoAuthError):
        return _denied(request, store)
    if isinstance(error, exceptions.InvalidACLError):
        return StoreMisconfigured(f"{store} refused the rights that acl= gives", store)
    if isinstance(error, _CREDENTIALS):
        return credentials_refused(store)
    verb, kind = _VERBS[type(request)], type(error).__name__
    return StoreError(f"{store} refused to {verb} {request.path}: {kind} {error}", store)


def credentials_refused(store: str) -> StoreMisconfigured:
    """What to say when the servers do not believe that we are who we say."""
    return StoreMisconfigured(
        f"{store} refused our credentials: look at the user, the password, auth= and sasl=",
        store,
        final=True,
    )


def _denied(request: ZkRequest, store: str) -> StoreMisconfigured:
    """To make or to delete a node is a right on its directory."""
    right, path = _RIGHTS.get(type(request), "READ"), request.path
    if right in ("CREATE", "DELETE"):
        path = path.rpartition("/")[0] or "/"
    return StoreMisconfigured(
        f"the ACL of {path} denies this client the right {right}: connect as a user who has it, "
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


def unanswered(request: ZkRequest, store: str, why: str) -> StoreError:
    """No answer came: a request that only reads leaves nothing behind."""
    kind = OutcomeUnknown if isinstance(request, WRITES) else StoreUnavailable
    return kind(f"{why}, so it is not known what became of {request.path}", store)


# --- sockets -------------------------------------------------------------------------------


def lasting_cause(error: OSError, label: str) -> str | None:
    """What to say of an error that will not go away by itself."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {label} is not trusted: {error.verify_message}"
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"a file of certificates for {label} cannot be read: {error.strerror}"
    return None


def cause_of(error: OSError) -> str:
    """What to say of a server that could not be reached."""
    if isinstance(error, ConnectionRefusedError):
        return "refused the connection"
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    if isinstance(error, ssl.SSLError):
        return f"does not agree on TLS ({error.reason or 'no reason given'})"
    return f"could not be reached ({error.strerror or type(error).__name__})"
