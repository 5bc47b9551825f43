"""How to reach ZooKeeper servers, as whom, and what others may do with our nodes."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kazoo.client import KazooClient
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE

from ...errors import Unsupported, UsageError
from ...model import as_seconds
from ...passwords import Password, asked

#: What others may do with our nodes, by name: anything, or nothing unless they are as we are.
RIGHTS = {"open": tuple(OPEN_ACL_UNSAFE), "creator": tuple(CREATOR_ALL_ACL)}

#: What can be said in code only; a URL can say the user and the session's length as well.
OPTIONS = frozenset(
    {"username", "password", "auth", "sasl", "acl", "insecure_tls", "session_timeout"}
)


@dataclass(frozen=True)
class Settings:
    """Everything needed to open a session.  Its repr never shows a secret."""

    hosts: str = "localhost:2181"
    root: str = ""
    tls: bool = False
    #: For ZooKeeper's scheme `digest`.
    username: str = ""
    password: Password | None = field(default=None, repr=False)
    #: Credentials of other schemes, each with its scheme.
    auth: Sequence[tuple[str, str]] = field(default=(), repr=False)
    #: What kazoo is told for SASL.
    sasl: Mapping[str, Any] | None = field(default=None, repr=False)
    #: The rights on the nodes that we make.
    acl: Sequence[Any] = field(default=RIGHTS["open"], repr=False)
    #: Seconds that the servers are asked to keep a silent session; they may say otherwise.
    session_timeout: float = 10.0
    #: Seconds for a connection.
    connect_timeout: float = 5.0
    ca_certs: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    #: Set in code only, never by a URL.
    insecure_tls: bool = False

    @property
    def label(self) -> str:
        """How to name these servers to people."""
        return f"{'zks' if self.tls else 'zk'}://{self.hosts}{self.root or '/'}"

    @property
    def known(self) -> bool:
        """Whether we tell the servers who we are."""
        return bool(self.password is not None or self.auth or self.sasl)


def secured(settings: Settings) -> Settings:
    """The same with the rights that are usual: who says who he is keeps his nodes to himself."""
    return replace(settings, acl=RIGHTS["creator" if settings.known else "open"])


def with_options(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """Add what was said in code, which counts more than a URL, and check the whole."""
    given = {word: value for word, value in options.items() if word != "acl"}
    if "session_timeout" in given:
        given["session_timeout"] = _positive("session_timeout", given["session_timeout"])
    settings = replace(settings, **given)
    _check_identity(settings)
    _check_auth(settings)
    _check_tls(settings)
    if options.get("acl") is None:
        return secured(settings)
    return replace(settings, acl=_rights(options["acl"], settings))


def _positive(argument: str, value: Any) -> float:
    seconds = as_seconds(argument, value)
    if seconds <= 0:
        raise UsageError(f"{argument} must be a positive number of seconds")
    return seconds


def _check_identity(settings: Settings) -> None:
    """ZooKeeper's digest is of both together, split at the first colon."""
    username, password = settings.username, settings.password
    if not isinstance(username, str):
        raise TypeError(f"username must be a str, not {type(username).__name__}")
    if password is not None and not isinstance(password, str) and not callable(password):
        raise TypeError(f"password must be a str or a function, not {type(password).__name__}")
    if bool(username) != (password is not None):
        raise UsageError("ZooKeeper needs both a user name and a password, or neither")
    if ":" in username:
        raise UsageError("a user name of ZooKeeper cannot have a ':' in it")


def _check_auth(settings: Settings) -> None:
    for each in settings.auth:
        if not (isinstance(each, tuple) and [type(part) for part in each] == [str, str]):
            raise TypeError("auth must be a list of pairs: (scheme, credential), both of them str")
        if each[0] == "sasl":
            raise UsageError("SASL is not told by auth=, but by sasl=")
    if settings.sasl is None:
        return
    if not isinstance(settings.sasl, Mapping) or "mechanism" not in settings.sasl:
        raise UsageError("sasl must be a dict as kazoo's sasl_options, with its 'mechanism'")
    if importlib.util.find_spec("puresasl") is None:
        raise Unsupported("SASL needs pure-sasl: pip install pure-sasl")


def _check_tls(settings: Settings) -> None:
    files = (settings.ca_certs, settings.certfile, settings.keyfile)
    if not settings.tls:
        if any(files) or settings.insecure_tls:
            raise UsageError("certificates are for TLS: use zks:// in place of zk://")
        return
    if settings.keyfile and not settings.certfile:
        raise UsageError("a 'keyfile' is of no use without its 'certfile'")
    if "check_hostname" not in inspect.signature(KazooClient.__init__).parameters:
        raise Unsupported("TLS needs a newer kazoo, which says whose certificate has to be seen")


def _rights(acl: Any, settings: Settings) -> Sequence[Any]:
    if isinstance(acl, str):
        if acl not in RIGHTS:
            raise UsageError('acl must be "open", "creator" or a list of kazoo\'s ACLs')
        if acl == "creator" and not (settings.known or settings.certfile):
            raise UsageError('acl="creator" needs to know the creator: give a password or auth=')
        return RIGHTS[acl]
    if not acl or not all(isinstance(each, ACL) for each in acl):
        raise UsageError('acl must be "open", "creator" or a list of kazoo\'s ACLs')
    return tuple(acl)


# --- what kazoo is told --------------------------------------------------------------------


class Secret(str):
    """A text that does not show itself: kazoo's log tells every request that it sends."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'"


def client_options(settings: Settings) -> dict[str, Any]:
    """What kazoo is told; a password function is asked anew each time."""
    return {
        "hosts": settings.hosts,
        "timeout": settings.session_timeout,
        "auth_data": _credentials(settings),
        "sasl_options": None if settings.sasl is None else dict(settings.sasl),
        "use_ssl": settings.tls,
    }


def _credentials(settings: Settings) -> list[tuple[str, Secret]]:
    given = [(scheme, Secret(credential)) for scheme, credential in settings.auth]
    if settings.password is None:
        return given
    password = asked(settings.password, settings.label)
    return [("digest", Secret(f"{settings.username}:{password}")), *given]
