"""Which connections to open: as a URL describes them, or like those of a redis-py client."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import hiredis  # noqa: F401 - needed later on: what is not installed is said at connect()
from redis import asyncio as redis_asyncio
from redis import connection as redis_connection
from redis.asyncio import connection as redis_asyncio_connection
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from ....errors import UsageError
from ....passwords import asked
from ..url import RedisSettings
from .handshakes import ConnectionFactory, PrimaryFinder, RecordedOpening, TimedOpening
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
    replicas: int | None = 0
    generation = 0

    def leave(self, generation: int) -> None:
        if generation == self.generation:  # else another connection has said so
            self.generation += 1


class UrlFactory(KnownServer):
    """Connections as a URL describes them: see `ConnectionFactory`."""

    def __init__(self, settings: RedisSettings) -> None:
        self.replicas = settings.replicas
        self.label, self.timeout = settings.label, settings.timeout
        self.connect_timeout = settings.connect_timeout
        self.protocol = settings.protocol or 3
        self._settings, self._options = settings, _options(settings)

    def blocking(self) -> Any:
        connection_class = BLOCKING[self._settings.transport]
        return _made(connection_class, self._with(protocol=2), Retry, TimedOpening)

    def asyncio(self) -> Any:
        connection_class = ASYNCIO[self._settings.transport]
        options = self._with(protocol=self.protocol)
        return _made(connection_class, options, AsyncRetry, RecordedOpening)

    def _with(self, protocol: int) -> dict[str, Any]:
        return {**self._options, **_credentials(self._settings), "protocol": protocol}


class SentinelFactory(UrlFactory):
    """Connections to the primary that Sentinels name: see `ConnectionFactory`."""

    def __init__(self, settings: RedisSettings) -> None:
        super().__init__(settings)
        watchers: list[ConnectionFactory] = [
            UrlFactory(each) for each in sentinel_settings(settings)
        ]
        self._sentinels = self.finder = Sentinels(settings, watchers, self._moved)

    def _moved(self) -> None:
        """The Sentinels name another primary."""
        self.generation += 1

    def leave(self, generation: int) -> None:
        super().leave(generation)
        self._sentinels.suspect()

    def _with(self, protocol: int) -> dict[str, Any]:
        primary = self._sentinels.primary
        assert primary is not None, "a connection is opened when its server has been found"
        place = {"host": primary.host, "port": primary.port}
        return {**super()._with(protocol), **place}


def factory_of(settings: RedisSettings) -> UrlFactory:
    """How to open the connections that a URL describes."""
    return SentinelFactory(settings) if settings.sentinels else UrlFactory(settings)


class ClientFactory(KnownServer):
    """Connections like those of a redis-py client that the user has brought along: see
    `ConnectionFactory`."""

    def __init__(self, client: Any, replicas: int = 0) -> None:
        self.replicas = replicas
        pool = self._pool = client.connection_pool  # kept: connections by Sentinels refer to it
        self._class, self._options = pool.connection_class, dict(pool.connection_kwargs)
        self.timeout = self._options.get("socket_timeout") or 5.0
        self.connect_timeout = self._options.get("socket_connect_timeout") or self.timeout
        self.protocol = int(self._options.get("protocol") or 2)
        self.label = _label_of(pool, self._options)
        self._asyncio = isinstance(client, redis_asyncio.Redis)

    def blocking(self) -> Any:
        if self._asyncio:
            raise UsageError("this is an asyncio client: use interlock.aio.connect(client)")
        return _made(self._class, {**self._options, "protocol": 2}, Retry, TimedOpening)

    def asyncio(self) -> Any:
        if not self._asyncio:
            raise UsageError("this is a blocking client: use interlock.connect(client)")
        return _made(self._class, self._options, AsyncRetry, RecordedOpening)


def _label_of(pool: Any, options: dict[str, Any]) -> str:
    """How to name the server of a redis-py client to people."""
    where = options.get("path") or (
        f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    )
    db = options.get("db", 0)
    if (service := getattr(pool, "service_name", None)) is not None:
        return f"redis+sentinel:///{service}/{db}"
    return f"redis://{where}/{db}"


def _made(connection_class: Any, options: dict[str, Any], retry: Any, opening: type) -> Any:
    """A connection that neither retries by itself nor says more than it must."""
    options = {**options, "retry": retry(NoBackoff(), 0)}
    known = inspect.signature(redis_connection.AbstractConnection.__init__).parameters
    silent = ("driver_info",) if "driver_info" in known else ("lib_name", "lib_version")
    options.update(dict.fromkeys(silent))
    return _mixed(opening, connection_class)(**options)


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
