"""From a URL to a client.  Backends are imported when they are asked for, not before."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Set
from dataclasses import replace
from typing import Any

from ..drive import now
from ..errors import Unsupported
from ..events import Observer
from ..stores import Backend
from .client import AsyncClient, Client

log = logging.getLogger("interlock.connect")

_REDIS = ("redis", "rediss", "valkey", "valkeys", "unix")
_ZOOKEEPER = ("zk", "zks")


def connect(url: Any = None, *, observer: Observer | None = None, **options: Any) -> Client:
    """Make a client for threads.

    `url` is a URL, a redis-py client, or None for `INTERLOCK_URL` and, failing that, the
    embedded SQLite default.  Nothing is opened before it is needed.
    """
    return Client(find_backend(url, options), observer)


def aconnect(url: Any = None, *, observer: Observer | None = None, **options: Any) -> AsyncClient:
    """Make a client for tasks.

    `url` is a URL, a redis-py client, or None for `INTERLOCK_URL` and, failing that, the
    embedded SQLite default.  Nothing is opened before it is needed.
    """
    return AsyncClient(find_backend(url, options), observer)


def find_backend(url: Any, options: dict[str, Any]) -> Backend:
    """Choose the backend for a URL; anything else must be a redis-py client."""
    if url is None:
        url = os.environ.get("INTERLOCK_URL") or "sqlite:"
    if not isinstance(url, str):
        return _borrowed_redis(url, options)
    scheme = url.partition(":")[0].lower()
    if scheme in _REDIS:
        return _redis(url, options)
    if scheme in _ZOOKEEPER:
        return _zookeeper(url, options)
    if scheme == "memory":
        return _memory(url, options)
    if scheme == "sqlite":
        return _sqlite(url, options)
    # What does not look like a scheme is not repeated: it might be a password.
    what = f"{scheme}://" if re.fullmatch(r"[a-z][a-z0-9+]*", scheme) and ":" in url else "that"
    raise Unsupported(
        f"{what} is not a store that Interlock knows; use redis://, rediss://, unix://, "
        "valkey://, zk://, zks://, memory:// or, for a file, sqlite:///path"
    )


def _redis(url: str, options: dict[str, Any]) -> Backend:
    redis = _import_redis()
    settings = redis.read_url(url)
    _allow(options, {"username", "password", "insecure_tls"})
    _warn(options, settings.label)
    backend: Backend = redis.RedisBackend(redis.SettingsDoor(replace(settings, **options)))
    return backend


def _borrowed_redis(client: Any, options: dict[str, Any]) -> Backend:
    if not hasattr(client, "connection_pool"):
        kind = type(client).__name__
        raise TypeError(f"url must be a str or a redis-py client, not {kind}")
    _allow(options, set())
    redis = _import_redis()
    backend: Backend = redis.RedisBackend(redis.BorrowedDoor(client))
    return backend


def _import_redis() -> Any:
    try:
        from ..backends import redis
    except ImportError as missing:
        raise Unsupported(
            "Redis needs redis-py and hiredis: pip install 'interlock[redis]'"
        ) from missing
    return redis


def _zookeeper(url: str, options: dict[str, Any]) -> Backend:
    try:
        from ..backends import zookeeper
    except ImportError as missing:
        raise Unsupported("ZooKeeper needs kazoo: pip install 'interlock[zookeeper]'") from missing
    settings = zookeeper.read_url(url)
    _allow(options, zookeeper.OPTIONS)
    backend: Backend = zookeeper.ZkBackend(zookeeper.with_options(settings, options))
    _warn(options, backend.label)
    return backend


def _memory(url: str, options: dict[str, Any]) -> Backend:
    from ..backends.memory import MemoryBackend

    _allow(options, set())
    return MemoryBackend(url.partition("://")[2], now)


def _sqlite(url: str, options: dict[str, Any]) -> Backend:
    from ..backends.sqlite import SqliteBackend, path_of

    _allow(options, set())
    return SqliteBackend(path_of(url))


def _warn(options: dict[str, Any], label: str) -> None:
    if options.get("insecure_tls"):
        log.warning("certificates of %s are not verified (insecure_tls)", label)


def _allow(options: dict[str, Any], known: Set[str]) -> None:
    for word in options.keys() - known:
        raise TypeError(f"connect() does not take {word!r} for this store")
