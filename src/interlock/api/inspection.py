"""Looking at what is held, by whatever client, and ending it."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from ..drive import now
from ..errors import StoreMisconfigured, Unsupported
from ..model import Finding, LockInfo
from ..recipes.lock import ANSWER
from ..recipes.retry import retry
from ..session.identity import introduction
from ..session.session import BaseSession
from ..spi import Backend, LockStore, examination
from ..steps import Steps

#: Where a backend has the store of a kind, if it takes no terms.
STORES = {
    "lock": "locks",
    "mutex": "mutexes",
    "fair_lock": "fair_locks",
    "fenced_lock": "fenced_locks",
    "rwlock": "readers",
    "latch": "latches",
}


_SEVERITIES = ("serious", "warning", "info")


def store_of(backend: Backend, kind: str) -> LockStore:
    """The store that knows names of a kind."""
    if kind == "semaphore":
        return backend.semaphores(None, 1)
    if kind == "leased_semaphore":
        return backend.leased_semaphores(None)
    if kind == "election":
        return backend.elections("")
    if kind == "barrier":
        return backend.barriers(None)
    store: LockStore = getattr(backend, STORES[kind])
    return store


def inspect(session: BaseSession, name: str) -> Steps[LockInfo | None]:
    """What a name is, and who holds it; None when it is free.  At most three round trips."""
    kind = yield from session.backend.directory.kind_of(name, now() + ANSWER)
    return (yield from _look(session, name, kind))


def _look(session: BaseSession, name: str, kind: str | None) -> Steps[LockInfo | None]:
    if kind is None:
        return None
    try:
        info = yield from store_of(session.backend, kind).look(name, now() + ANSWER)
    except StoreMisconfigured:
        return None  # it has become something else just now, so it was free in between
    # The waiters of the local queue are unknown to the store.
    here = session.queue.waiting((kind, name))
    return info if info is None or not here else replace(info, waiters=info.waiters + here)


def locks(session: BaseSession, pattern: str) -> Steps[list[LockInfo]]:
    """Everything whose name matches.  One round trip or two for each, and one to find them."""
    found: list[LockInfo] = []
    names = yield from session.backend.directory.names(now() + 10 * ANSWER)
    for name, kind in sorted(names):
        if fnmatchcase(name, pattern):
            info = yield from _look(session, name, kind)
            found += [] if info is None else [info]
    return found


def revoke(session: BaseSession, name: str, reason: str) -> Steps[LockInfo | None]:
    """End every lease of a name; answers what was ended.  One round trip for each holder more
    than `inspect`, two of a semaphore."""
    info = yield from inspect(session, name)
    if info is None:
        return None
    by = introduction(session.identity)
    words = f"revoked by {by}" + (f": {reason}" if reason else "")
    yield from _end(session, info, words)
    return info


def request_release(backend: Backend, name: str) -> Steps[int]:
    """Ask every holder of a name to give it back; answers how many were asked.  Two round trips,
    if their answers arrive."""
    ask = getattr(backend.directory, "request_release", None)
    if ask is None:
        raise Unsupported(
            f"{backend.label} has no way to ask holders to give {name!r} back: ZooKeeper has; "
            "revoke() ends leases without asking"
        )
    asked: int = yield from retry(lambda until: ask(name, until), now)
    return asked


def doctor(backend: Backend) -> Steps[tuple[Finding, ...]]:
    """What makes the locks of a store unsafe, the worst first."""
    found = yield from examination(backend, now() + 10 * ANSWER, thorough=True)
    return tuple(sorted(found, key=lambda each: _SEVERITIES.index(each.severity)))


def _end(session: BaseSession, info: LockInfo, words: str) -> Steps[None]:
    store = store_of(session.backend, info.kind)
    for holder in info.holders:
        yield from store.withdraw(info.name, holder.owner, now() + ANSWER, words)
    if info.count is not None:
        yield from session.backend.latches.open(info.name, now() + ANSWER)
