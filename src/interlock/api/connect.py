"""From a URL, or a backend, to a client.  See `registry` for what a URL can mean."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Never, Protocol

from ..errors import Unsupported, UsageError
from ..events import Observer
from ..model import Seconds, checked_callback
from ..passwords import Password
from ..spi import Backend
from .client import AsyncClient, Client
from .registry import BUILT_IN, allow, borrowed_redis, is_backend, open_url

#: What a word that is only the name of a store should have been.
_EXAMPLES = {
    **{scheme: f"{scheme}://localhost" for scheme in BUILT_IN},
    "redlock": "redlock://redis1,redis2,redis3",
    "redlocks": "redlocks://redis1,redis2,redis3",
    "redlock+unix": "redlock+unix:///run/redis1.sock,/run/redis2.sock,/run/redis3.sock",
    "unix": "unix:///run/redis/redis.sock",
    "redis+sentinel": "redis+sentinel://h1,h2,h3/service",
    "rediss+sentinel": "rediss+sentinel://h1,h2,h3/service",
    "zookeeper": "zk://localhost",
    "memory": "memory://",
    "sqlite": "sqlite:///var/lib/app/locks.db",
}


class RedisClient(Protocol):
    """A client of redis-py or valkey-py, for threads or for asyncio, of one server or by
    Sentinels; ours opens connections like its own."""

    @property
    def connection_pool(self) -> Any: ...


class RedisClusterClient(Protocol):
    """The same of a cluster."""

    @property
    def nodes_manager(self) -> Any: ...


def connect(
    url: str | Backend | RedisClient | RedisClusterClient | None = None,
    *,
    observer: Observer | None = None,
    username: str | None = None,
    password: Password | None = None,
    insecure_tls: bool = False,
    replicas: int | Literal["all"] | None = None,
    restart_guard: bool | None = None,
    longest_lease: Seconds | str | None = None,
    sentinel_username: str | None = None,
    sentinel_password: Password | None = None,
    session_timeout: Seconds | None = None,
    auth: Sequence[tuple[str, str]] | None = None,
    sasl: Mapping[str, Any] | None = None,
    acl: Literal["open", "creator"] | Sequence[Any] | None = None,
    **options: Never,
) -> Client:
    """Make a client for threads.  Nothing is opened before it is needed.

    `url` is a URL, a backend, a client of redis-py or valkey-py, or None for `INTERLOCK_URL` and,
    failing that, a SQLite file that all processes of this user share.  `observer` is told what
    happens to each acquisition: see `interlock.events`.  What else is said counts more than the
    URL:

    username, password   Redis, ZooKeeper: who connects; a password may be a function that is
                         called at each connection
    insecure_tls         Redis, ZooKeeper: True does not verify certificates
    replicas             Redis: how many replicas must confirm a grant and a renewal, which takes
                         one more round trip (WAIT), or "all" that there are; by Sentinels and in
                         a cluster 1 if there are any, else 0
    restart_guard        Redis: True grants nothing on a server that has restarted until
                         `longest_lease` (60 s) is over; of Redlock it is True unless you say False
    longest_lease        Redis: longer leases are refused then; the same for all clients
    sentinel_username, sentinel_password
                         Redis by Sentinels: who asks them
    session_timeout      ZooKeeper: seconds that the servers keep a silent session
    auth                 ZooKeeper: credentials of other schemes, (scheme, credential) each
    sasl                 ZooKeeper: kazoo's `sasl_options`, with their `mechanism`
    acl                  ZooKeeper: "open", "creator" or a list of kazoo's ACLs

    Other options are those of a plugin, and known at run time alone; make the backend by the
    plugin's own function, and pass it as `url`, to have them checked as well.
    """
    said = _said(locals())
    return Client(find_backend(url, {**said, **options}), checked_observer(observer))


def aconnect(
    url: str | Backend | RedisClient | RedisClusterClient | None = None,
    *,
    observer: Observer | None = None,
    username: str | None = None,
    password: Password | None = None,
    insecure_tls: bool = False,
    replicas: int | Literal["all"] | None = None,
    restart_guard: bool | None = None,
    longest_lease: Seconds | str | None = None,
    sentinel_username: str | None = None,
    sentinel_password: Password | None = None,
    session_timeout: Seconds | None = None,
    auth: Sequence[tuple[str, str]] | None = None,
    sasl: Mapping[str, Any] | None = None,
    acl: Literal["open", "creator"] | Sequence[Any] | None = None,
    **options: Never,
) -> AsyncClient:
    """Make a client for tasks.  Nothing is opened before it is needed.

    `url` is a URL, a backend, a client of redis-py or valkey-py, or None for `INTERLOCK_URL` and,
    failing that, a SQLite file that all processes of this user share.  `observer` is told what
    happens to each acquisition: see `interlock.events`.  What else is said counts more than the
    URL:

    username, password   Redis, ZooKeeper: who connects; a password may be a function that is
                         called at each connection
    insecure_tls         Redis, ZooKeeper: True does not verify certificates
    replicas             Redis: how many replicas must confirm a grant and a renewal, which takes
                         one more round trip (WAIT), or "all" that there are; by Sentinels and in
                         a cluster 1 if there are any, else 0
    restart_guard        Redis: True grants nothing on a server that has restarted until
                         `longest_lease` (60 s) is over; of Redlock it is True unless you say False
    longest_lease        Redis: longer leases are refused then; the same for all clients
    sentinel_username, sentinel_password
                         Redis by Sentinels: who asks them
    session_timeout      ZooKeeper: seconds that the servers keep a silent session
    auth                 ZooKeeper: credentials of other schemes, (scheme, credential) each
    sasl                 ZooKeeper: kazoo's `sasl_options`, with their `mechanism`
    acl                  ZooKeeper: "open", "creator" or a list of kazoo's ACLs

    Other options are those of a plugin, and known at run time alone; make the backend by the
    plugin's own function, and pass it as `url`, to have them checked as well.
    """
    said = _said(locals())
    return AsyncClient(find_backend(url, {**said, **options}), checked_observer(observer))


def _said(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments of `connect` that are options, and were given."""
    words = arguments.keys() - {"url", "observer", "options"}
    given = {word: arguments[word] for word in sorted(words)}
    silent = {"insecure_tls": False}  # what it is unless it is said
    return {word: v for word, v in given.items() if v is not silent.get(word)}


def checked_observer(observer: Observer | None) -> Observer | None:
    """Refuse an observer that could not be told anything."""
    if observer is not None:
        checked_callback("observer", observer)
    return observer


def find_backend(url: Any, options: Mapping[str, Any]) -> Backend:
    """Choose the backend for what a user calls a URL."""
    if url is None:
        return _unnamed_backend(options)
    if is_backend(url):
        allow(options, ())
        backend: Backend = url
        return backend
    if not isinstance(url, str):
        return borrowed_redis(url, options)
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if not rest.startswith("//") and not (scheme == "sqlite" and ":" in url):
        raise UsageError(f"url must be a URL, such as {_suggested(url)}")
    return open_url(scheme, url, options)


def _suggested(text: str) -> str:
    """What was probably meant by what is no URL.  It is not repeated: it might be a password."""
    word = text.strip().rstrip(":/").lower()
    if word in _EXAMPLES:
        return _EXAMPLES[word]
    if text.startswith(("/", ".", "~")):
        return "sqlite:///var/lib/app/locks.db for a file, with its absolute path"
    return "redis://localhost, zk://localhost, sqlite:///var/lib/app/locks.db or memory://"


def _unnamed_backend(options: Mapping[str, Any]) -> Backend:
    """What the environment names, or the default."""
    url = os.environ.get("INTERLOCK_URL")
    if not url:
        return open_url("sqlite", "sqlite:", options)
    try:
        return find_backend(url, options)
    except (UsageError, Unsupported) as wrong:
        # The program names no URL, so say where the wrong one is.
        kind = UsageError if isinstance(wrong, UsageError) else Unsupported
        raise kind(f"INTERLOCK_URL in the environment: {wrong}") from wrong
