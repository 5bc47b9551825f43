"""Which backend a URL means: the built-in ones, and those that programs and plugins add.

A built-in backend is imported when a URL asks for it.  Plugins are looked for when a URL has a
scheme that is neither built in nor registered.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..drive import now
from ..errors import Unsupported, UsageError
from ..spi import Backend

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger("interlock.connect")

#: Makes a backend of a URL and of options, each by its name.
Factory: TypeAlias = Callable[..., Backend]

#: The entry point group of plugins: a scheme is the name, a factory the value.
GROUP = "interlock.backends"

#: What the kernel asks of every backend, whatever it offers.
_PARTS = ("label", "directory", "link", "alink")

#: Options of the Redis servers that can have a restart guard.
_GUARDING = ("restart_guard", "longest_lease")

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")

_registered: dict[str, Factory] = {}


def register_backend(scheme: str, factory: Factory) -> None:
    """Let `connect("scheme://…")` make its backend by `factory(url, **options)`, in this process.

    For programs and tests that have a backend of their own; a package names its factory in the
    entry point group `interlock.backends` instead.
    """
    if not isinstance(scheme, str) or not _SCHEME.fullmatch(scheme):
        raise UsageError(f"scheme must be lower case, such as 'etcd', not {scheme!r}")
    if scheme in BUILT_IN:
        raise UsageError(f"{scheme}:// is built in; choose another scheme")
    if not callable(factory):
        raise TypeError(f"factory must be a function of a URL, not {type(factory).__name__}")
    if _registered.setdefault(scheme, factory) is not factory:
        raise UsageError(f"{scheme}:// is registered already, with another factory")


def is_backend(thing: object) -> bool:
    """Whether it is a backend; what it offers is found out when it is asked for."""
    return all(hasattr(thing, part) for part in _PARTS)


def open_url(scheme: str, url: str, options: Mapping[str, Any]) -> Backend:
    """The backend of a URL whose scheme is in lower case."""
    if (built_in := BUILT_IN.get(scheme)) is not None:
        return built_in(url, options)
    if (registered := _registered.get(scheme)) is not None:
        return _made(f"the factory of {scheme}://", registered, url, options)
    if (plugin := _plugin(scheme)) is not None:
        return _made(f"the plugin of {scheme}:// ({_name(plugin)})", _load(plugin), url, options)
    # What does not look like a scheme is not repeated: it might be a password.
    what = f"{scheme}://" if re.fullmatch(r"[a-z][a-z0-9+]*", scheme) else "that"
    raise Unsupported(
        f"{what} is not a store that Interlock knows; use redis://, rediss://, unix://, "
        "valkey://, redis+sentinel://, redis+cluster://, redlock://, zk://, zks://, memory:// or, "
        f"for a file, sqlite:///path{_others()}"
    )


def allow(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse the options that a store does not take, and name those that it does."""
    for word in sorted(options.keys() - set(known)):
        taken = f"but {', '.join(sorted(known))}" if known else "and has no options at all"
        raise TypeError(f"connect() does not take {word!r} for this store, {taken}")


# --- plugins, and what programs register ---------------------------------------------------------


def _plugins() -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _plugin(scheme: str) -> EntryPoint | None:
    """The plugin for a scheme; two that differ are one too many."""
    found = {each.value: each for each in _plugins() if each.name.lower() == scheme}
    if len(found) > 1:
        names = " and ".join(sorted(_name(each) for each in found.values()))
        raise Unsupported(f"{scheme}:// is offered by two plugins, {names}: uninstall one of them")
    return next(iter(found.values()), None)


def _name(plugin: EntryPoint) -> str:
    package = plugin.dist.name if plugin.dist is not None else "unknown package"
    return f"{plugin.value} of {package}"


def _others() -> str:
    schemes = sorted({*_registered, *(each.name for each in _plugins())})
    return "".join(f", {scheme}://" for scheme in schemes)


def _load(plugin: EntryPoint) -> Factory:
    try:
        factory: Factory = plugin.load()
    except Exception as error:
        raise Unsupported(
            f"the plugin of {plugin.name}:// ({_name(plugin)}) cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not callable(factory):
        kind = type(factory).__name__
        raise Unsupported(
            f"the plugin of {plugin.name}:// ({_name(plugin)}) is a {kind}, and no function"
        )
    return factory


def _made(what: str, factory: Factory, url: str, options: Mapping[str, Any]) -> Backend:
    if (known := _options_of(factory)) is not None:
        allow(options, known)
    backend = factory(url, **options)
    if not is_backend(backend):
        missing = [part for part in _PARTS if not hasattr(backend, part)]
        kind = type(backend).__name__
        raise TypeError(f"{what} made a {kind}, which is no backend: no {', '.join(missing)}")
    return backend


def _options_of(factory: Factory) -> list[str] | None:
    """The options that a factory takes; None where it takes any, or does not say."""
    try:
        _, *parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [each.name for each in parameters if each.kind in named]


# --- the built-in backends -----------------------------------------------------------------------


def _redis(url: str, options: Mapping[str, Any]) -> Backend:
    redis = _import_redis()
    settings = redis.read_url(url)
    of_sentinels = {"sentinel_username", "sentinel_password"} if settings.sentinels else set()
    credentials = {"username", "password", "insecure_tls"}
    allow(options, {*credentials, "replicas", *_GUARDING, *of_sentinels})
    _warn(options, settings.label)
    settings = redis.with_options(settings, options)
    guard = redis.RestartGuard(settings.longest_lease) if settings.restart_guard else None
    backend: Backend = redis.RedisBackend(redis.factory_of(settings), guard=guard)
    return backend


def _redlock(url: str, options: Mapping[str, Any]) -> Backend:
    redis = _import_redis()
    from ..backends.redis import redlock

    settings = redlock.read_url(url)
    credentials = ("username", "password", "insecure_tls")
    allow(options, {*credentials, *_GUARDING})
    _warn(options, settings.label)
    said = {word: options[word] for word in credentials if word in options}
    nodes = tuple(replace(node, **said) for node in settings.nodes)
    return redlock.RedlockBackend(replace(settings, nodes=nodes, **redis.guarding(options)))


def _redis_cluster(url: str, options: Mapping[str, Any]) -> Backend:
    redis = _import_redis()
    from ..backends.redis import cluster

    settings, seeds, label = cluster.read_cluster_url(url)
    allow(options, {"username", "password", "insecure_tls", "replicas"})
    _warn(options, label)
    nodes = cluster.UrlNodes(redis.with_options(settings, options), seeds, label)
    backend: Any = cluster.ClusterBackend(nodes)
    return cast("Backend", backend)


def borrowed_redis(client: Any, options: Mapping[str, Any]) -> Backend:
    """A backend on connections like those of a client of redis-py's, or of valkey-py's."""
    if not hasattr(client, "connection_pool") and not hasattr(client, "nodes_manager"):
        kind = type(client).__name__
        raise TypeError(f"url must be a str, a backend or a redis-py client, not {kind}")
    redis = _import_redis()
    clustered = redis.is_cluster(client)
    allow(options, {"replicas"} if clustered else {"replicas", *_GUARDING})
    replicas = options.get("replicas")
    if replicas is not None:
        redis.check_replicas(replicas)
    if clustered:
        return _borrowed_cluster(client, replicas)
    said = {"longest_lease": redis.LONGEST_LEASE, **redis.guarding(options)}
    guard = redis.RestartGuard(said["longest_lease"]) if said.get("restart_guard") else None
    factory = redis.factory_of_client(client, replicas)
    backend: Backend = redis.RedisBackend(factory, guard=guard)
    return backend


def _borrowed_cluster(client: Any, replicas: Any) -> Backend:
    from ..backends.redis import cluster

    backend: Any = cluster.ClusterBackend(cluster.ClientNodes(client, replicas))
    return cast("Backend", backend)


def _import_redis() -> Any:
    try:
        from ..backends import redis
    except ImportError as missing:
        raise Unsupported(
            "Redis needs redis-py and hiredis: pip install 'interlock[redis]'"
        ) from missing
    return redis


def _zookeeper(url: str, options: Mapping[str, Any]) -> Backend:
    try:
        from ..backends import zookeeper
    except ImportError as missing:
        raise Unsupported("ZooKeeper needs kazoo: pip install 'interlock[zookeeper]'") from missing
    settings = zookeeper.read_url(url)
    allow(options, zookeeper.OPTIONS)
    backend: Backend = zookeeper.ZkBackend(zookeeper.with_options(settings, options))
    _warn(options, backend.label)
    return backend


def _memory(url: str, options: Mapping[str, Any]) -> Backend:
    from ..backends.memory import MemoryBackend, name_of

    allow(options, ())
    return MemoryBackend(name_of(url), now)


def _sqlite(url: str, options: Mapping[str, Any]) -> Backend:
    from ..backends.sqlite import SqliteBackend, path_of

    allow(options, ())
    return SqliteBackend(path_of(url))


def _warn(options: Mapping[str, Any], label: str) -> None:
    if options.get("insecure_tls"):
        log.warning("certificates of %s are not verified (insecure_tls)", label)


def _redis_and_valkey(topology: str) -> list[str]:
    """The schemes of several servers: Valkey's names are aliases."""
    return [f"{scheme}+{topology}" for scheme in ("redis", "rediss", "valkey", "valkeys")]


BUILT_IN: dict[str, Callable[[str, Mapping[str, Any]], Backend]] = {
    **dict.fromkeys(("redis", "rediss", "valkey", "valkeys", "unix"), _redis),
    **dict.fromkeys(_redis_and_valkey("sentinel"), _redis),
    **dict.fromkeys(("redlock", "redlocks", "redlock+unix"), _redlock),
    **dict.fromkeys(_redis_and_valkey("cluster"), _redis_cluster),
    **dict.fromkeys(("zk", "zks"), _zookeeper),
    "memory": _memory,
    "sqlite": _sqlite,
}
