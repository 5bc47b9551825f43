"""How to reach a Redis server: our own reader of URLs, and connections opened by redis-py.

Only the parameters listed here are accepted: a URL often comes from outside the program, and
must be able neither to switch verification off nor to slip in commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ...errors import StoreMisconfigured, UsageError
from ...model import as_seconds, spelled

#: A password, or a function that is asked for it at each connection (for rotation).
Password: TypeAlias = "str | Callable[[], str]"

SCHEMES = {"redis": "tcp", "valkey": "tcp", "rediss": "tls", "valkeys": "tls", "unix": "unix"}

_TIMES = ("timeout", "connect_timeout")
_FILES = ("ca_certs", "certfile", "keyfile")
_ALLOWED = {"db", "protocol", "client_name", *_TIMES, *_FILES}
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True)
class Settings:
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
    #: Set in code only, never by a URL.
    insecure_tls: bool = False

    @property
    def label(self) -> str:
        """How to name this server to people."""
        scheme = {"tcp": "redis", "tls": "rediss", "unix": "unix"}[self.transport]
        if self.transport == "unix":
            return f"unix://{self.path}?db={self.db}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/{self.db}"


def read_url(url: str) -> Settings:
    """Read a URL, or say which part of it is wrong; the password is never repeated."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        raise UsageError(f"{scheme}:// is not a Redis URL; use one of {', '.join(SCHEMES)}")
    given: dict[str, Any] = {"transport": SCHEMES[scheme]}
    given.update(_credentials(parts))
    given.update(_place(parts, scheme))
    given.update(_parameters(parts.query))
    return Settings(**given)


def _credentials(parts: SplitResult) -> dict[str, Any]:
    given = {"username": parts.username, "password": parts.password}
    return {word: unquote(value) for word, value in given.items() if value}


def _place(parts: SplitResult, scheme: str) -> dict[str, Any]:
    if scheme == "unix":
        if not parts.path:
            raise UsageError("a unix:// URL needs the path of the socket: unix:///run/redis.sock")
        return {"path": unquote(parts.path)}
    try:
        port = parts.port or 6379
    except ValueError:
        raise UsageError("the port in the URL must be a number from 1 to 65535") from None
    host = unquote(parts.hostname or "localhost")
    if _CONTROL.search(host) or "@" in host or "/" in host:
        raise UsageError("the host in the URL contains a character that no host name has")
    place: dict[str, Any] = {"host": host, "port": port}
    if (db := parts.path.strip("/")) != "":
        place["db"] = _number("database", db)
    return place


def _parameters(query: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for word, value in parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)):
        if word not in _ALLOWED:
            allowed = ", ".join(sorted(_ALLOWED))
            raise UsageError(f"unknown parameter {word!r} in the URL; allowed are {allowed}")
        if _CONTROL.search(value):
            raise UsageError(f"parameter {word!r} in the URL contains a control character")
        given[word] = _parameter(word, value)
    return given


def _parameter(word: str, value: str) -> Any:
    if word in _TIMES:
        return _seconds(word, value)
    if word == "db":
        return _number("database", value)
    if word == "protocol":
        if value not in ("2", "3"):
            raise UsageError("parameter 'protocol' must be 2 or 3")
        return int(value)
    return value


def _number(what: str, value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise UsageError(f"the {what} in the URL must be a number, not {value!r}")
    return int(value)


def _seconds(word: str, value: str) -> float:
    seconds = as_seconds(word, spelled(f"parameter {word!r}", value))
    if seconds <= 0:
        raise UsageError(f"parameter {word!r} must be a positive number of seconds")
    return seconds


def connection_options(settings: Settings) -> dict[str, Any]:
    """What redis-py is told; the same for both worlds."""
    options: dict[str, Any] = {
        "db": settings.db,
        "socket_timeout": settings.timeout,
        "socket_connect_timeout": settings.connect_timeout,
        "client_name": settings.client_name,
    }
    if settings.transport == "unix":
        options["path"] = settings.path
    else:
        options.update(host=settings.host, port=settings.port)
    if settings.transport == "tls":
        options.update(_tls(settings))
    if settings.password is not None or settings.username is not None:
        options["credential_provider"] = Credentials(settings)
    return options


def _tls(settings: Settings) -> dict[str, Any]:
    verify = not settings.insecure_tls
    return {
        "ssl_cert_reqs": "required" if verify else "none",
        "ssl_check_hostname": verify,
        "ssl_ca_certs": settings.ca_certs,
        "ssl_certfile": settings.certfile,
        "ssl_keyfile": settings.keyfile,
    }


class Credentials:
    """Answers redis-py's question for a user and a password, anew at each connection."""

    def __init__(self, settings: Settings) -> None:
        self._username, self._password = settings.username, settings.password

    def get_credentials(self) -> tuple[str, ...]:
        password = self._password() if callable(self._password) else self._password
        if not isinstance(password, str):
            raise StoreMisconfigured("the password function did not return a str")
        return (self._username, password) if self._username else (password,)

    async def get_credentials_async(self) -> tuple[str, ...]:
        return self.get_credentials()
