"""The world of a claim: one store, one kind of lock, and actors that block or await."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ...api.client import AsyncClient, Client
from ...drive import now
from ...events import Event
from ...model import LockInfo
from ...stores import Backend, LockStore
from .actors import Actor, AnyHold, AnyLock, TaskActor, ThreadActor
from .links import Watch, WatchedBackend

AnyClient: TypeAlias = Client | AsyncClient

#: How long a claim waits for what must happen by itself.
SOON = 10.0


class Face(NamedTuple):
    """One of the two ways to use the library."""

    name: str
    client: type[Client] | type[AsyncClient]
    actor: type[Actor]


BLOCKING = Face("blocking", Client, ThreadActor)
ASYNCIO = Face("asyncio", AsyncClient, TaskActor)
FACES = (BLOCKING, ASYNCIO)

#: The kinds of lock that every backend offers: the names of the client's methods.
KINDS = ("lock", "mutex")


class World:
    """Makes clients, actors and locks for one claim, and ends them after it."""

    def __init__(self, backend: Callable[[], Backend], face: Face, kind: str) -> None:
        self._backend, self.face, self.kind = backend, face, kind
        self._clients: list[AnyClient] = []
        self._actors: list[Actor] = []
        self._events: dict[int, list[Event]] = {}
        self._onlooker: AnyClient | None = None

    # --- who takes part ------------------------------------------------------------------

    def client(self) -> AnyClient:
        """A client as another process would have it."""
        events: list[Event] = []
        client = self.face.client(WatchedBackend(self._backend()), events.append)
        self._events[id(client)] = events
        self._clients.append(client)
        return client

    def actor(self) -> Actor:
        """A thread or task as another part of a program would have it."""
        actor = self.face.actor()
        self._actors.append(actor)
        return actor

    def lock(self, client: Any = None, name: str = "claim", **terms: Any) -> AnyLock:
        """A lock of the kind that is being proved, of this client or of a new one."""
        lock: AnyLock = getattr(client or self.client(), self.kind)(name, **terms)
        return lock

    async def held(self, **terms: Any) -> tuple[Actor, AnyLock, AnyHold]:
        """A new actor that holds the lock by a new client."""
        actor, lock = self.actor(), self.lock(**terms)
        return actor, lock, await actor.acquire(lock)

    async def waiting(self, **terms: Any) -> tuple[Actor, AnyLock, asyncio.Future[Any]]:
        """A new actor that waits for the lock by a new client, enqueued in the store."""
        actor, lock = self.actor(), self.lock(**terms)
        coming = actor.start(lock.acquire)
        await self.until(lambda: "Parked" in self.told(lock.client))
        return actor, lock, coming

    def pick(self, plain: Any, coroutine: Any) -> Any:
        """Whichever of two functions the face needs, where they cannot be one."""
        return plain if self.face is BLOCKING else coroutine

    # --- what can be seen -----------------------------------------------------------------

    def store_of(self, client: Any) -> LockStore:
        """What proves the kind of lock in the store."""
        store: LockStore = getattr(
            client.backend, {"lock": "locks", "mutex": "mutexes"}[self.kind]
        )
        return store

    def watch(self, of: Any) -> Watch:
        """The traffic of a client, or of the client of a lock."""
        client = getattr(of, "client", of)
        watch: Watch = client.backend.watch
        return watch

    def events(self, client: Any) -> list[Event]:
        """What the observer of a client was told."""
        return self._events[id(client)]

    def told(self, client: Any) -> list[str]:
        """The kinds of events that the observer of a client was told, in order."""
        return [type(event).__name__ for event in self.events(client)]

    def standing(self, lock: AnyLock) -> int | None:
        """How many stand behind the head in the local line; None when nobody heads it."""
        lines, key = lock.client.lines, (self.kind, lock.name)
        return len(lines._lines.get(key, ())) if key in lines.busy() else None

    async def look(self, name: str = "claim") -> LockInfo | None:
        """What the store knows of a lock."""
        info: LockInfo | None = await self._ask("look", name)
        return info

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what must come true by itself."""
        async with asyncio.timeout(SOON):
            while not condition():  # noqa: ASYNC110 - threads and processes set no events
                await asyncio.sleep(0.002)

    # --- what can be done to others -----------------------------------------------------------

    async def revoke(self, hold: AnyHold) -> None:
        """Take a lock away from its holder, behind its back."""
        await self._ask("withdraw", hold.name, hold.owner)

    async def _ask(self, operation: str, *args: str) -> Any:
        """Ask the store by a client that takes no other part."""
        if self._onlooker is None:
            self._onlooker = self.client()
        steps = getattr(self.store_of(self._onlooker), operation)(*args, now() + 5.0)
        return await settled(self._onlooker.run(steps))

    async def close(self, client: Any) -> None:
        """Close a client as its user would."""
        await settled(client.close())

    # --- life --------------------------------------------------------------------------------

    async def __aenter__(self) -> World:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exit: object) -> None:
        for actor in self._actors:
            actor.end()
        if kind is None:  # a claim that failed may have left actors waiting for ever
            for actor in self._actors:
                await actor.ended()
        for client in self._clients:
            await self.close(client)


async def settled(outcome: Any) -> Any:
    """The outcome of a call of either face."""
    return await outcome if inspect.isawaitable(outcome) else outcome
