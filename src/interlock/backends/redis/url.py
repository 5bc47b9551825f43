"""How to reach a Redis server, by itself or by the Sentinels that watch it: a reader of URLs.

Only the parameters listed here are accepted: a URL often comes from outside the program, and
must be able neither to switch verification off nor to slip in commands.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ...errors import Unsupported, UsageError
from ...model import SHORTEST_LEASE, as_seconds, checked_count, spelled
from ...passwords import Password
from ...words import shown
from .confirmation import ALL, Replicas

#: Where Sentinels are asked for the server, and how they and it are reached.
SENTINEL_SCHEMES = {
    **dict.fromkeys(("redis+sentinel", "valkey+sentinel"), "tcp"),
    **dict.fromkeys(("rediss+sentinel", "valkeys+sentinel"), "tls"),
}

SCHEMES = {
    **dict.fromkeys(("redis", "valkey"), "tcp"),
    **dict.fromkeys(("rediss", "valkeys"), "tls"),
    "unix": "unix",
    **SENTINEL_SCHEMES,
}

#: The port of a Sentinel, and seconds for an answer or a connection of the server that it names:
#: a server that stays silent may have been replaced, so the Sentinels are asked again about as
#: often as a waiter polls.
SENTINEL_PORT, SENTINEL_TIMEOUT = 26379, 2.0

#: The longest lease that is granted where there is a restart guard, unless the user says more.
LONGEST_LEASE = 60.0

_TIMES = ("timeout", "connect_timeout")
_FILES = ("ca_certs", "certfile", "keyfile")
_GUARDING = ("restart_guard", "longest_lease")
_ALLOWED = {"db", "protocol", "client_name", "replicas", *_GUARDING, *_TIMES, *_FILES}
_CONTROL = re.compile(r"[\x00-\x20\x7f]")

#: What Redis allows in the name of a service.
_SERVICE = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class RedisSettings:
    """Everything needed to open a connection.  Its repr never shows a secret."""

    transport: str = "tcp"
    host: str = "localhost"
    port: int = 6379
    path: str = ""
    db: int = 0
    username: str | None = None
    password: Password | None = field(default=None, repr=False)
    protocol: int | None = None
    client_name: str | None = None
    #: Seconds for an answer, and for a connection.
    timeout: float = 5.0
    connect_timeout: float = 5.0
    ca_certs: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    #: How many replicas must confirm a grant and a renewal.
    replicas: Replicas = 0
    #: Whether a server that has restarted grants only when the longest lease is over.
    restart_guard: bool = False
    longest_lease: float = LONGEST_LEASE
    #: Where Sentinels are asked for the server, and as what they know it.
    sentinels: tuple[tuple[str, int], ...] = ()
    service: str = ""
    #: Whether Java is told and heard on channels of slots, where the nodes of a cluster have them.
    sharded_channels: bool = True
    #: Set in code only, never by a URL.
    sentinel_username: str | None = None
    sentinel_password: Password | None = field(default=None, repr=False)
    insecure_tls: bool = False

    @property
    def label(self) -> str:
        """How to name this server to people."""
        if self.sentinels:
            scheme = "rediss+sentinel" if self.transport == "tls" else "redis+sentinel"
            hosts = ",".join(spelled_address(*each) for each in self.sentinels)
            return f"{scheme}://{hosts}/{self.service}/{self.db}"
        scheme = {"tcp": "redis", "tls": "rediss", "unix": "unix"}[self.transport]
        if self.transport == "unix":
            return f"unix://{self.path}?db={self.db}"
        return f"{scheme}://{spelled_address(self.host, self.port)}/{self.db}"


def spelled_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def with_options(settings: RedisSettings, options: Mapping[str, Any]) -> RedisSettings:
    """Add what was said in code, which counts more than a URL."""
    if "replicas" in options:
        check_replicas(options["replicas"])
    return replace(settings, **{**options, **guarding(options)})


def check_replicas(replicas: object) -> None:
    """How many replicas must confirm, as was said in code."""
    if isinstance(replicas, str) and replicas != ALL:
        raise UsageError(f"replicas must be a number or {ALL!r}, not {shown(replicas)}")
    if replicas != ALL:
        checked_count("replicas", replicas, least=0)


def guarding(options: Mapping[str, Any]) -> dict[str, Any]:
    """What was said in code of the restart guard, checked."""
    said: dict[str, Any] = {}
    if "restart_guard" in options:
        if not isinstance(options["restart_guard"], bool):
            kind = type(options["restart_guard"]).__name__
            raise TypeError(f"restart_guard must be True or False, not {kind}")
        said["restart_guard"] = options["restart_guard"]
    if "longest_lease" in options:
        said["longest_lease"] = _longest("longest_lease", options["longest_lease"])
    return said


def read_url(url: str, replicas: Replicas = 0) -> RedisSettings:
    """Read a URL, or say which part of it is wrong; the password is never repeated.

    `replicas` must confirm grants and renewals where the URL does not say how many.
    """
    scheme = url.partition(":")[0].lower()
    if scheme in SENTINEL_SCHEMES:
        return _read_sentinels(url, scheme)
    parts = split_url(url)
    if (scheme := parts.scheme.lower()) not in SCHEMES:
        raise UsageError(f"{scheme}:// is not a Redis URL; use one of {', '.join(SCHEMES)}")
    given: dict[str, Any] = {"transport": SCHEMES[scheme], "replicas": replicas}
    given.update(_credentials(parts))
    given.update(_place(parts, scheme))
    given.update(_parameters(parts.query))
    return RedisSettings(**given)


def _read_sentinels(url: str, scheme: str) -> RedisSettings:
    """Read `scheme://user:password@h1,h2:26380,h3/service/db?name=value`."""
    rest = url.partition("://")[2]
    netloc = re.split("[/?#]", rest, maxsplit=1)[0]
    credentials, hosts = split_hosts(netloc)
    parts = split_url(f"redis://{credentials}{rest[len(netloc) :]}")
    service, _, db = parts.path.strip("/").partition("/")
    if not _SERVICE.fullmatch(service):
        # What stands here may be half of a password with a slash in it: it is not repeated.
        raise UsageError(f"the URL must name the service: {scheme}://h1,h2,h3/service")
    given: dict[str, Any] = dict.fromkeys(_TIMES, SENTINEL_TIMEOUT)
    given["transport"] = SENTINEL_SCHEMES[scheme]
    given.update(service=service, sentinels=_sentinels(hosts), replicas=None)
    if db:
        given["db"] = _number("database", db)
    return RedisSettings(**{**given, **_credentials(parts), **_parameters(parts.query)})


def split_hosts(netloc: str) -> tuple[str, list[str]]:
    """What stands before several hosts, with its '@', and each of them."""
    credentials, at, hosts = netloc.rpartition("@")
    if "@" in credentials:
        # What stands there may be a password, or half of one: it is not repeated.
        raise UsageError(
            "the URL has more than one '@': user and password stand once, before the first host, "
            "and count for all; a '@' in them is written as %40"
        )
    places = hosts.split(",")
    if len(places) > 1 and not all(places):
        raise UsageError("a host is missing before or after a ',' in the URL")
    return credentials + at, places


def _sentinels(hosts: list[str]) -> tuple[tuple[str, int], ...]:
    """The address of each Sentinel, once."""
    parts = (split_url(f"redis://{host}") for host in hosts)
    return tuple(dict.fromkeys(_host_and_port(each, SENTINEL_PORT) for each in parts))


def split_url(url: str) -> SplitResult:
    """Cut a URL into parts.  The library's own errors quote it, password and all."""
    if _CONTROL.search(url):
        raise UsageError("the URL contains a space or a control character: write it as %XX")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UsageError("the host in the URL is not a host name or address") from None
    if parts.fragment:
        raise UsageError("the URL contains a '#'; in a password it is written as %23")
    return parts


def _credentials(parts: SplitResult) -> dict[str, Any]:
    given = {"username": parts.username, "password": parts.password}
    return {word: unquote(value) for word, value in given.items() if value}


def _place(parts: SplitResult, scheme: str) -> dict[str, Any]:
    if scheme == "unix":
        if not hasattr(socket, "AF_UNIX"):
            raise Unsupported("this system has no unix sockets; use redis://host:port")
        if not parts.path or parts.hostname:
            raise UsageError("a unix:// URL needs the path of the socket: unix:///run/redis.sock")
        return {"path": unquote(parts.path)}
    host, port = _host_and_port(parts, 6379)
    place: dict[str, Any] = {"host": host, "port": port}
    if (db := parts.path.strip("/")) != "":
        place["db"] = _number("database", db)
    return place


def _host_and_port(parts: SplitResult, usual_port: int) -> tuple[str, int]:
    try:
        port = usual_port if parts.port is None else parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise UsageError("the port in the URL must be a number from 1 to 65535")
    host = unquote(parts.hostname or "localhost")
    if _CONTROL.search(host) or "@" in host or "/" in host:
        raise UsageError("the host in the URL contains a character that no host name has")
    return host, port


def _parameters(query: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for word, value in _pairs(query):
        if word not in _ALLOWED:
            allowed = ", ".join(sorted(_ALLOWED))
            raise UsageError(f"unknown parameter {word!r} in the URL; allowed are {allowed}")
        if _CONTROL.search(value):
            raise UsageError(f"parameter {word!r} in the URL contains a control character")
        given[word] = _parameter(word, value)
    return given


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError("what follows the '?' in the URL must read name=value&…") from None


def _parameter(word: str, value: str) -> Any:
    if word in _GUARDING:
        return guarding_parameter(word, value)
    if word in _TIMES:
        return _seconds(word, value)
    if word == "replicas" and value == ALL:
        return ALL
    if word in ("db", "replicas"):
        return _number("database" if word == "db" else "parameter 'replicas'", value)
    if word == "protocol":
        if value not in ("2", "3"):
            raise UsageError("parameter 'protocol' must be 2 or 3")
        return int(value)
    return value


def guarding_parameter(word: str, value: str) -> Any:
    """What a URL says of the restart guard."""
    if word == "restart_guard":
        if value not in ("on", "off"):
            raise UsageError("parameter 'restart_guard' must be on or off")
        return value == "on"
    return _longest("parameter 'longest_lease'", value)


def _longest(what: str, value: Any) -> float:
    seconds = as_seconds(what, spelled(what, value))
    if seconds < SHORTEST_LEASE:
        raise UsageError(f"{what} must be at least 50 ms")
    return seconds


def _number(what: str, value: str) -> int:
    if not value.isascii() or not value.isdigit():
        # What stands here may be half of a password with a slash in it: it is not repeated.
        raise UsageError(f"the {what} in the URL must be a number")
    return int(value)


def _seconds(word: str, value: str) -> float:
    seconds = as_seconds(word, spelled(f"parameter {word!r}", value))
    if seconds <= 0:
        raise UsageError(f"parameter {word!r} must be a positive number of seconds")
    return seconds
