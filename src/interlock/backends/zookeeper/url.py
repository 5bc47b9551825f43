"""How to reach ZooKeeper servers, as whom, and what others may do with our nodes: what a URL says
(`zk://user:password@h1,h2:2182,[::1]/chroot?name=value`), and what code says beside it.

Of a URL only the parameters listed here are accepted: it often comes from outside the program,
and must not be able to switch verification off.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import parse_qsl, unquote

from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE

from ...errors import Unsupported, UsageError
from ...model import as_seconds, spelled
from ...passwords import Password
from .layout import path_of

#: What others may do with our nodes, by name: anything, or nothing unless they are as we are.
RIGHTS = {"open": tuple(OPEN_ACL_UNSAFE), "creator": tuple(CREATOR_ALL_ACL)}

#: What can be said in code only; a URL can say the user and the session's length as well.
OPTIONS = frozenset(
    {"username", "password", "auth", "sasl", "acl", "insecure_tls", "session_timeout"}
)


@dataclass(frozen=True)
class ZkSettings:
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


def secured(settings: ZkSettings) -> ZkSettings:
    """The same with the rights that are usual: who says who he is keeps his nodes to himself."""
    return replace(settings, acl=RIGHTS["creator" if settings.known else "open"])


def with_options(settings: ZkSettings, options: Mapping[str, Any]) -> ZkSettings:
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


def _check_identity(settings: ZkSettings) -> None:
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


def _check_auth(settings: ZkSettings) -> None:
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


def _check_tls(settings: ZkSettings) -> None:
    files = (settings.ca_certs, settings.certfile, settings.keyfile)
    if not settings.tls:
        if any(files) or settings.insecure_tls:
            raise UsageError("certificates are for TLS: use zks:// in place of zk://")
        return
    if settings.keyfile and not settings.certfile:
        raise UsageError("a 'keyfile' is of no use without its 'certfile'")


def _rights(acl: Any, settings: ZkSettings) -> Sequence[Any]:
    if isinstance(acl, str):
        if acl not in RIGHTS:
            raise UsageError('acl must be "open", "creator" or a list of kazoo\'s ACLs')
        if acl == "creator" and not (settings.known or settings.certfile):
            raise UsageError('acl="creator" needs to know the creator: give a password or auth=')
        return RIGHTS[acl]
    if not acl or not all(isinstance(each, ACL) for each in acl):
        raise UsageError('acl must be "open", "creator" or a list of kazoo\'s ACLs')
    return tuple(acl)


# --- URLs ----------------------------------------------------------------------------------

SCHEMES = {"zk": False, "zks": True}

PORT = 2181

_TIMES = ("session_timeout", "connect_timeout")
_FILES = ("ca_certs", "certfile", "keyfile")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_URL = re.compile(r"([^:/]*)://([^/?]*)([^?]*)\??(.*)")
_HOST = re.compile(r"(\[[^\[\]]*\]|[A-Za-z0-9._-]+)(?::(.*))?")


def read_url(url: str) -> ZkSettings:
    """Read a URL, or say which part of it is wrong; the password is never repeated."""
    scheme, authority, path, query = _split(url)
    before, _, hosts = authority.rpartition("@")
    given: dict[str, Any] = {"tls": SCHEMES[scheme]}
    given.update(hosts=_hosts(hosts), root=_chroot(path))
    given.update(**_credentials(before), **_parameters(query))
    return secured(ZkSettings(**given))


def _split(url: str) -> tuple[str, str, str, str]:
    if _CONTROL.search(url):
        raise UsageError("the URL contains a space or a control character: write it as %XX")
    if "#" in url:
        raise UsageError("the URL contains a '#'; in a password it is written as %23")
    found = _URL.fullmatch(url)
    scheme = url.partition(":")[0].lower()
    if found is None or scheme not in SCHEMES:
        raise UsageError("a ZooKeeper URL looks like zk://host1,host2/chroot, or zks://… with TLS")
    _, authority, path, query = found.groups()
    if "@" in path + query:
        # What stands there may be half of a password: it is not repeated.
        raise UsageError(
            "the URL has an '@' behind its hosts: write it as %40, and in a password '/' as %2F "
            "and '?' as %3F"
        )
    return scheme, authority, path, query


def _credentials(text: str) -> dict[str, str]:
    username, _, password = text.partition(":")
    given = {"username": username, "password": password}
    return {word: unquote(value) for word, value in given.items() if value}


def _hosts(text: str) -> str:
    """The servers as kazoo wants them, each with its port."""
    return ",".join(map(_host, text.split(",")))


def _host(text: str) -> str:
    if not text:
        raise UsageError("a host in the URL is empty: write zk://host1,host2/chroot")
    found = _HOST.fullmatch(text)
    if found is None or not _is_address(found[1]):
        raise UsageError("a host in the URL is not a host name or address")
    return f"{found[1]}:{_port(found[2])}"


def _is_address(host: str) -> bool:
    """Whether what stands in brackets, if anything does, is an address."""
    if not host.startswith("["):
        return True
    try:
        IPv6Address(host[1:-1])
    except ValueError:
        return False
    return True


def _port(text: str | None) -> int:
    if text is None:
        return PORT
    port = int(text) if re.fullmatch("[0-9]{1,5}", text) else 0
    if not 0 < port < 65536:
        raise UsageError("a port in the URL must be a number from 1 to 65535")
    return port


def _chroot(path: str) -> str:
    """The folder below which everything is kept; empty for none."""
    root = unquote(path).rstrip("/")
    if root and path_of(root) != root:
        raise UsageError(
            "the chroot in the URL is not a path for locks: it has an empty part, '.', '..', '%' "
            "or a character that ZooKeeper refuses, or is ZooKeeper's own"
        )
    return root


def _parameters(query: str) -> dict[str, Any]:
    return {word: _parameter(word, value) for word, value in _pairs(query)}


def _pairs(query: str) -> Iterator[tuple[str, str]]:
    try:
        yield from parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError("what follows the '?' in the URL must read name=value&…") from None


def _parameter(word: str, value: str) -> Any:
    if word in _TIMES:
        return _seconds(word, value)
    if word not in _FILES:
        allowed = ", ".join(sorted((*_TIMES, *_FILES)))
        raise UsageError(f"unknown parameter {word!r} in the URL; allowed are {allowed}")
    if not value or _CONTROL.search(value):
        raise UsageError(f"parameter {word!r} in the URL is not the path of a file")
    return value


def _seconds(word: str, value: str) -> float:
    seconds = as_seconds(word, spelled(f"parameter {word!r}", value))
    if seconds <= 0:
        raise UsageError(f"parameter {word!r} must be a positive number of seconds")
    return seconds
