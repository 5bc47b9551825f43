"""Everyone who takes part, as context managers by name: limits, Interlock, peers.

Peers that are not installed do not take part, and the report says who did.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

import redis

import interlock

from . import bare

Guard = AbstractContextManager[Any]


class AsyncGuard(Protocol):
    """What `async with` needs, coroutines or any other awaitables."""

    def __aenter__(self) -> Awaitable[Any]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> Awaitable[Any]: ...


#: Seconds, for everybody who takes a lease.
LEASE = 30.0


@dataclass(frozen=True)
class Entrant:
    """Who takes part, and how to make its lock."""

    name: str
    #: From where the store is (a port, a folder) and a name.
    make: Callable[[Any, str], Guard]
    #: The commands it sends itself, as the server counts them; not those inside scripts.
    commands: tuple[str, ...] = ("evalsha", "eval")
    #: Needs the module of this name.
    module: str = "redis"
    #: Polls so slowly that a few samples must do.
    slow: bool = False

    @property
    def there(self) -> bool:
        try:
            importlib.import_module(self.module)
        except ImportError:
            return False
        return True


def _lock(port: int, name: str) -> Guard:
    return interlock.connect(f"redis://127.0.0.1:{port}").lock(name)


def _mutex(port: int, name: str) -> Guard:
    return interlock.connect(f"redis://127.0.0.1:{port}").mutex(name)


def _fair(port: int, name: str) -> Guard:
    return interlock.connect(f"redis://127.0.0.1:{port}").fair_lock(name)


def _redis_py(port: int, name: str) -> Guard:
    lock: Guard = redis.Redis(port=port).lock(name, timeout=LEASE)
    return lock


def _redis_py_eager(port: int, name: str) -> Guard:
    lock: Guard = redis.Redis(port=port).lock(name, timeout=LEASE, sleep=0.001)
    return lock


def _python_redis_lock(port: int, name: str) -> Guard:
    lock: Guard = _module("redis_lock").Lock(redis.Redis(port=port), name, expire=int(LEASE))
    return lock


def _python_redis_lock_renewed(port: int, name: str) -> Guard:
    lock: Guard = _module("redis_lock").Lock(
        redis.Redis(port=port), name, expire=int(LEASE), auto_renewal=True
    )
    return lock


def _redlock_ng(port: int, name: str) -> Guard:
    redlock = _module("redlock").Redlock([f"redis://127.0.0.1:{port}"])
    lock: Guard = redlock.lock(name, int(LEASE * 1000), blocking=True)
    return lock


def _walrus(port: int, name: str) -> Guard:
    lock: Guard = _module("walrus").Database(port=port).lock(name, ttl=int(LEASE * 1000))
    return lock


def _pottery(port: int, name: str) -> Guard:
    lock: Guard = _module("pottery").Redlock(
        key=name, masters={redis.Redis(port=port)}, auto_release_time=LEASE
    )
    return lock


def _module(name: str) -> Any:
    return importlib.import_module(name)


RAW_HASH, RAW_STRING = "bare socket, raw hash", "bare socket, SET NX PX"
LOCK, MUTEX, FAIR = "interlock lock()", "interlock mutex()", "interlock fair_lock()"
REDIS_PY, REDIS_PY_EAGER = "redis-py Lock", "redis-py Lock, 1 ms polling"
PYTHON_REDIS_LOCK = "python-redis-lock"

HEARD, LIST = "bare pub/sub + attempt", "bare list hand-over"
LIMITS = (Entrant(RAW_HASH, bare.raw_hash), Entrant(RAW_STRING, bare.raw_string))
WAITING = ("evalsha", "eval", "subscribe", "ping")
OURS = (Entrant(LOCK, _lock, WAITING), Entrant(MUTEX, _mutex, WAITING))
OURS_FAIR = Entrant(FAIR, _fair, WAITING)
SET_FIRST = ("set", "evalsha", "eval")
PEERS = (
    Entrant(REDIS_PY, _redis_py, SET_FIRST, slow=True),
    Entrant(REDIS_PY_EAGER, _redis_py_eager, SET_FIRST),
    Entrant(PYTHON_REDIS_LOCK, _python_redis_lock, (*SET_FIRST, "blpop"), "redis_lock"),
    Entrant(
        "python-redis-lock, renewed",
        _python_redis_lock_renewed,
        (*SET_FIRST, "blpop"),
        "redis_lock",
    ),
    Entrant("redlock-ng", _redlock_ng, SET_FIRST, "redlock", slow=True),
    Entrant("walrus", _walrus, (*SET_FIRST, "blpop"), "walrus"),
    Entrant("pottery", _pottery, SET_FIRST, "pottery", slow=True),
)


WAIT_LIMITS = (Entrant(HEARD, bare.heard, WAITING), Entrant(LIST, bare.ListToken, ("blpop",)))


def peers() -> list[Entrant]:
    """The peers that are installed here."""
    return [peer for peer in PEERS if peer.there]
