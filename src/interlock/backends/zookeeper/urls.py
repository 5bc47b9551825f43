"""Our own reader of ZooKeeper URLs: `zk://user:password@h1,h2:2182,[::1]/chroot?name=value`.

Only the parameters listed here are accepted: a URL often comes from outside the program, and
must not be able to switch verification off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import parse_qsl, unquote

from ...errors import UsageError
from ...model import as_seconds, spelled
from .names import path_of
from .settings import Settings, secured

SCHEMES = {"zk": False, "zks": True}

PORT = 2181

_TIMES = ("session_timeout", "connect_timeout")
_FILES = ("ca_certs", "certfile", "keyfile")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_URL = re.compile(r"([^:/]*)://([^/?]*)([^?]*)\??(.*)")
_HOST = re.compile(r"(\[[^\[\]]*\]|[A-Za-z0-9._-]+)(?::(.*))?")


def read_url(url: str) -> Settings:
    """Read a URL, or say which part of it is wrong; the password is never repeated."""
    scheme, authority, path, query = _split(url)
    before, _, hosts = authority.rpartition("@")
    given: dict[str, Any] = {"tls": SCHEMES[scheme]}
    given.update(hosts=_hosts(hosts), root=_chroot(path))
    given.update(**_credentials(before), **_parameters(query))
    return secured(Settings(**given))


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
            "the chroot in the URL is no path for us: it has an empty part, '.', '..', '%' or a "
            "character that ZooKeeper refuses, or is ZooKeeper's own"
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
