"""Which connections to open, as a URL describes them; see `borrowed` for those of clients."""

from __future__ import annotations

import inspect
import select
from collections.abc import Sequence
from functools import cache
from typing import Any

import hiredis  # noqa: F401 - needed later on: what is not installed is said at connect()
from redis import connection as redis_connection
from redis.asyncio import connection as redis_asyncio_connection
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from ....passwords import asked
from ..confirmation import Replicas, Witness, are_counted
from ..topology import Primary
from ..url import RedisSettings, spelled_address
from .handshakes import ConnectionFactory, PrimaryFinder
from .lookups import Lookup
from .openings import RecordedOpening, TimedOpening
from .sentinels import Sentinels, sentinel_settings

BLOCKING = {
    "tcp": redis_connection.Connection,
    "tls": redis_connection.SSLConnection,
    "unix": redis_connection.UnixDomainSocketConnection,
}
ASYNCIO = {
    "tcp": redis_asyncio_connection.Connection,
    "tls": redis_asyncio_connection.SSLConnection,
    "unix": redis_asyncio_connection.UnixDomainSocketConnection,
}


class KnownServer:
    """What factories share whose server has an address that stays."""

    reached = False
    finder: PrimaryFinder | None = None
    lookup: Lookup | None = None
    settings: RedisSettings | None = None
    replicas: Replicas = 0
    witness: Witness | None = None
    any_role = False
    generation = 0

    def leave(self, generation: int) -> None:
        if generation == self.generation:  # else another connection has said so
            self.generation += 1


class UrlFactory(KnownServer):
    """Connections as a URL describes them: see `ConnectionFactory`."""

    def __init__(self, settings: RedisSettings) -> None:
        self.replicas: Replicas = settings.replicas
        self.settings: RedisSettings | None = settings if _polled(settings) else None
        self.label, self.timeout = settings.label, settings.timeout
        self.connect_timeout = settings.connect_timeout
        self.protocol = settings.protocol or 3
        self._settings, self._options = settings, _options(settings)

    def blocking(self) -> Any:
        connection_class = BLOCKING[self._settings.transport]
        return made(connection_class, self._with(protocol=2), Retry, TimedOpening)

    def asyncio(self) -> Any:
        connection_class = ASYNCIO[self._settings.transport]
        options = self._with(protocol=self.protocol)
        return made(connection_class, options, AsyncRetry, RecordedOpening)

    def _with(self, protocol: int) -> dict[str, Any]:
        return {**self._options, **_credentials(self._settings), "protocol": protocol}


class NodeFactory(UrlFactory):
    """Connections to one of several nodes, none of which may hold up the others."""

    def __init__(self, settings: RedisSettings, lookup: Lookup) -> None:
        super().__init__(settings)
        self.lookup: Lookup | None = lookup


def _polled(settings: RedisSettings) -> bool:
    """Whether connections can be had that never block: see `flights`."""
    one = not settings.replicas and not settings.sentinels
    return one and hasattr(select, "poll")


class FoundServer(KnownServer):
    """What factories share whose server Sentinels name."""

    label: str
    _sentinels: Sentinels

    def _watch(self, service: str, watchers: Sequence[ConnectionFactory]) -> None:
        counts = are_counted(self.replicas)
        sentinels = Sentinels(service, self.label, watchers, self._moved, counts)
        self._sentinels = self.finder = self.witness = sentinels

    def _moved(self) -> None:
        """The Sentinels name another primary."""
        self.generation += 1

    def leave(self, generation: int) -> None:
        super().leave(generation)
        self._sentinels.suspect()

    def _primary(self) -> Primary:
        primary = self._sentinels.primary
        assert primary is not None, "a connection is opened when its server has been found"
        return primary


class SentinelFactory(FoundServer, UrlFactory):
    """Connections to the primary that Sentinels name: see `ConnectionFactory`."""

    def __init__(self, settings: RedisSettings) -> None:
        super().__init__(settings)
        watchers = [_watcher(each) for each in sentinel_settings(settings)]
        self._watch(settings.service, watchers)

    def _with(self, protocol: int) -> dict[str, Any]:
        primary = self._primary()
        return {**super()._with(protocol), "host": primary.host, "port": primary.port}


def _watcher(settings: RedisSettings) -> UrlFactory:
    """How one Sentinel is reached."""
    factory = UrlFactory(settings)
    factory.label = f"Sentinel {spelled_address(settings.host, settings.port)}"
    return factory


def factory_of(settings: RedisSettings) -> UrlFactory:
    """How to open the connections that a URL describes."""
    return SentinelFactory(settings) if settings.sentinels else UrlFactory(settings)


def made(connection_class: Any, options: dict[str, Any], retry: Any, opening: type) -> Any:
    """A connection that neither retries by itself nor says more than it must."""
    options = {**options, "retry": retry(NoBackoff(), 0), **_silence(connection_class)}
    return _mixed(opening, connection_class)(**options)


@cache
def _silence(connection_class: Any) -> dict[str, None]:
    """What keeps a connection from telling the server which library it belongs to."""
    base = next(each for each in connection_class.__mro__ if each.__name__ == "AbstractConnection")
    known = inspect.signature(base.__init__).parameters
    return dict.fromkeys(
        ("driver_info",) if "driver_info" in known else ("lib_name", "lib_version")
    )


@cache
def _mixed(opening: type, connection_class: type) -> Any:
    """The same class of connections, which are opened in another way."""
    return type(f"{opening.__name__}{connection_class.__name__}", (opening, connection_class), {})


def _options(settings: RedisSettings) -> dict[str, Any]:
    """What redis-py is told; the same for threads and for asyncio."""
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
    return options


def _tls(settings: RedisSettings) -> dict[str, Any]:
    verify = not settings.insecure_tls
    return {
        "ssl_cert_reqs": "required" if verify else "none",
        "ssl_check_hostname": verify,
        "ssl_ca_certs": settings.ca_certs,
        "ssl_certfile": settings.certfile,
        "ssl_keyfile": settings.keyfile,
    }


def _credentials(settings: RedisSettings) -> dict[str, str | None]:
    """The user and the password of one connection; a function is asked anew each time."""
    password = None if settings.password is None else asked(settings.password, settings.label)
    return {"username": settings.username, "password": password}
