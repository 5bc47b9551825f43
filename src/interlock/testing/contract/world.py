"""The world of a claim: one store, one kind of thing to hold, and actors that block or await."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

from ...api import inspection
from ...api.client import AsyncClient, Client
from ...api.hold import BaseHold
from ...drive import now
from ...events import Event, Lost, Renewed
from ...model import LockInfo
from ...session.session import BaseSession
from ...spi import Backend, LockStore
from .actors import Actor, AnyHold, AnyLock, TaskActor, ThreadActor
from .links import Traffic, WatchedBackend
from .subjects import KINDS, MULTILOCKS, primitive_of

AnyClient: TypeAlias = Client | AsyncClient

#: How long a claim waits for what must happen by itself.
SOON = 10.0


class ClientFace(NamedTuple):
    """One of the two ways to use the library."""

    name: str
    client: type[Client] | type[AsyncClient]
    actor: type[Actor]


BLOCKING = ClientFace("blocking", Client, ThreadActor)
ASYNCIO = ClientFace("asyncio", AsyncClient, TaskActor)
FACES = (BLOCKING, ASYNCIO)


class World:
    """Makes clients, actors and locks for one claim, and ends them after it."""

    def __init__(
        self, backend: Callable[[], Backend], face: ClientFace, kind: str, round_trips: int = 1
    ) -> None:
        self._backend, self.face, self.kind = backend, face, kind
        #: What it costs to take what is free, or to count a latch down.
        self.round_trips = round_trips
        self._clients: list[AnyClient] = []
        self._actors: list[Actor] = []
        self._events: dict[int, list[Event]] = {}
        self._onlooker: AnyClient | None = None

    # --- who takes part ------------------------------------------------------------------

    def client(self) -> AnyClient:
        """A client as another process would have it."""
        events: list[Event] = []
        backend = cast("Backend", WatchedBackend(self._backend()))
        client = self.face.client(backend, events.append)
        self._events[id(client._session)] = events
        self._clients.append(client)
        return client

    def client_of(self, lock: Any) -> AnyClient:
        """The client that has made a lock."""
        return next(each for each in self._clients if each._session is lock._session)

    def onlooker(self) -> AnyClient:
        """A client that only looks."""
        if self._onlooker is None:
            self._onlooker = self.client()
        return self._onlooker

    def actor(self) -> Actor:
        """A thread or task as another part of a program would have it."""
        actor = self.face.actor()
        self._actors.append(actor)
        return actor

    def lock(self, client: Any = None, name: str = "claim", **terms: Any) -> AnyLock:
        """A lock of the kind that is being proved, of this client or of a new one."""
        lock: AnyLock = KINDS[self.kind](client or self.client(), name, **terms)
        return lock

    async def held(self, **terms: Any) -> tuple[Actor, AnyLock, AnyHold]:
        """A new actor that holds the lock by a new client."""
        actor, lock = self.actor(), self.lock(**terms)
        return actor, lock, await actor.acquire(lock)

    async def waiting(self, **terms: Any) -> tuple[Actor, AnyLock, asyncio.Future[Any]]:
        """A new actor that waits for the lock by a new client, enqueued in the store."""
        actor, lock = self.actor(), self.lock(**terms)
        coming = actor.start(lock.acquire)
        await self.until(lambda: "Parked" in self.told(lock) or coming.done())
        return actor, lock, coming

    def pick(self, plain: Any, coroutine: Any) -> Any:
        """Whichever of two functions the face needs, where they cannot be one."""
        return plain if self.face is BLOCKING else coroutine

    # --- what can be seen -----------------------------------------------------------------

    def store_of(self, client: Any, kind: str = "") -> LockStore:
        """What keeps things of a kind; a multilock is made of locks."""
        kind = kind or self.kind
        kept = "lock" if kind in MULTILOCKS else primitive_of(kind)
        return inspection.store_of(session_of(client).backend, kept)

    def called(self, kind: str = "") -> str:
        """What the store calls things of a kind: there every lock may be a fair one."""
        return self.store_of(self.onlooker(), kind).kind

    def ends(self, told: float | None, least: float, most: float) -> bool:
        """Whether an onlooker is told the end of a lease: it lies between the two."""
        return told is not None and least < told <= most

    @property
    def brief(self) -> float:
        """A short lease; a server that is asked over a session needs some time to answer."""
        return 0.2 if self.store_of(self.onlooker()).leases_expire else 0.8

    def traffic(self, of: Any) -> Traffic:
        """The traffic of a client, or of the client of a lock."""
        backend: Any = session_of(of).backend
        traffic: Traffic = backend.traffic
        return traffic

    def events(self, of: Any) -> list[Event]:
        """What the observer of a client, or of the client of a lock, was told."""
        return self._events[id(session_of(of))]

    def told(self, of: Any) -> list[str]:
        """The kinds of events that an observer was told, in order."""
        return [type(event).__name__ for event in self.events(of)]

    def standing(self, lock: AnyLock) -> int | None:
        """How many wait behind the head in the local queue; None when it has no head."""
        queue = lock._session.queue
        return queue.waiting(lock._key) if lock._key in queue.busy() else None

    def siblings(self, lock: AnyLock) -> int:
        """How many actors of one client wait: in the local queue, or in the store's."""
        queue = lock._session.queue
        asking = [each for each in list(queue.acquiring.values()) if each.name == lock.name]
        return queue.waiting(lock._key) + sum(each.parked for each in asking)

    async def look(self, name: str = "claim") -> LockInfo | None:
        """What the store knows of a lock."""
        info: LockInfo | None = await self._ask("look", name)
        return info

    async def is_free(self, name: str = "claim") -> bool:
        """Whether no client holds it or waits; how many permits there are stays known."""
        info = await self.look(name)
        if info is None:
            return True
        return info.permits is not None and not info.holders and not info.waiters

    async def until_held_by(self, number: int, name: str = "claim") -> LockInfo:
        """Wait until so many hold it, as the store sees it: a loss is known before."""
        info = await self.seen(lambda info: bool(info and len(info.holders) == number), name)
        assert info is not None
        return info

    async def until_nobody_waits(self, name: str = "claim") -> None:
        """Wait until the store knows of no waiter; a connection may take a moment to close."""
        await self.seen(lambda info: info is None or info.waiters == 0, name)

    async def seen(
        self, condition: Callable[[LockInfo | None], bool], name: str = "claim"
    ) -> LockInfo | None:
        """Wait until the store knows something of a lock."""
        async with asyncio.timeout(SOON):
            while not condition(info := await self.look(name)):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.002)
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

    def make_all_due(self, *holds: AnyHold) -> None:
        """Let the keepers renew these holds now, and not after a third of their leases."""
        for hold in holds:
            hold._lease.renew_at, session = now(), session_of(hold)
            session.schedule.settle(hold._lease)
            session.keeper.wake()

    async def lost(self, *holds: AnyHold) -> None:
        """Wait until the keepers have learnt that these holds were taken away."""
        self.make_all_due(*holds)
        await self.until(lambda: all(hold.lost for hold in holds))

    async def renewed(self, hold: AnyHold) -> None:
        """Wait until a lease was made whole once more, or found to be lost."""
        told = self.events(hold)
        before = len(told)
        self.make_all_due(hold)
        await self.until(
            lambda: any(
                isinstance(event, (Lost, Renewed)) and event.owner == hold.owner
                for event in told[before:]
            )
        )

    async def _ask(self, operation: str, *args: str) -> Any:
        """Ask the store by a client that takes no other part."""
        onlooker = self.onlooker()
        steps = getattr(self.store_of(onlooker), operation)(*args, now() + 5.0)
        return await settled(onlooker._session.run(steps))

    async def close(self, client: Any) -> None:
        """Close a client as its user would."""
        await settled(client.close())

    # --- life --------------------------------------------------------------------------------

    async def __aenter__(self) -> World:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exit: object) -> None:
        # First, so that no actor ends that still holds something: it would be warned of that.
        for client in self._clients:
            await self.close(client)
        for actor in self._actors:
            actor.end()
        if kind is None:  # a claim that failed may have left actors waiting for ever
            for actor in self._actors:
                await actor.ended()


def session_of(of: Any) -> BaseSession:
    """The session of a client, of a lock, or of a hold."""
    session: Any = of._lease.host if isinstance(of, BaseHold) else of._session
    return cast("BaseSession", session)


async def settled(outcome: Any) -> Any:
    """The outcome of a call of either face."""
    return await outcome if inspect.isawaitable(outcome) else outcome
