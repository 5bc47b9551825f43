"""The asyncio link: one multiplexed connection, and a second one only under RESP2."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ...drive import now
from ...errors import OutcomeUnknown, StoreError, StoreUnavailable, closed, forked
from ...spi import Quiet
from ...steps import Call, Reply, Wakes
from ...tasks import Sent, TaskParking, TaskWakes
from .errors import Unreached
from .keys import Topic
from .restart_guard import RestartGuard
from .transport.handshakes import ConnectionFactory, PrimaryFinder, moves_of, unobserved
from .transport.lazy import LazyConnection
from .transport.mux import Mux, PendingReply
from .transport.protocol import SUBSCRIBE_TIMEOUT, Sharded, never
from .transport.recent_releases import RecentReleases

log = logging.getLogger("interlock.redis")

#: Seconds of silence after which the server is pinged, while a task waits for a wake.
QUIET = 5.0

#: Seconds that the Sentinels have to say whether the primary is still the same.
CHECK_TIMEOUT = 2.0


class RedisAsyncLink(TaskParking, Quiet):
    """See `spi.AsyncLink`."""

    ordered = True

    def __init__(self, factory: ConnectionFactory, sharded: Sharded = never) -> None:
        self._factory, self._sharded = factory, sharded
        self._moves = moves_of(factory)
        self._observer: Callable[[bool], None] = unobserved
        #: Where another server may become the primary: what it has to be told, and the
        #: generation of the connection to the last one that was.
        self._releases = None if factory.finder is None else RecentReleases()
        self._told = factory.generation
        self._closed = self._forked = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin()

    def _begin(self) -> None:
        #: Where calls go, and where wakes come in: the same connection but under RESP2.
        parts = self._factory, self._deliver, self._lost, self._opened
        self._calls = self._wakes = LazyConnection(*parts)
        if self._factory.protocol == 2:
            self._wakes = LazyConnection(*parts, only_subscribes=True)
        self._listeners: dict[Topic, set[TaskWakes]] = {}
        self._subscribed: dict[str, Sent] = {}
        #: The task that keeps the subscriptions alive, and what it sleeps on.
        self._upkeep: asyncio.Task[None] | None = None
        self._upkeep_due = TaskWakes()
        #: The task that asks whether the primary is still the same.
        self._checking: asyncio.Task[None] | None = None

    def _bind(self) -> asyncio.AbstractEventLoop:
        """The loop this client lives on; one that has ended was followed by another."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._begin()
        return loop

    def call(self, request: Call) -> Sent:
        pending = PendingReply(loop=(loop := asyncio.get_running_loop()))
        mux, known = self._calls.mux, loop is self._loop and not self._closed
        if mux is None or self._releases is not None or not known:
            return self.send(pending, request)
        mux.call(pending, request)  # on every hot path, so without a detour
        return pending

    def mux_on(self, loop: asyncio.AbstractEventLoop) -> Mux | None:
        """The connection that calls of this loop go to at once; None where more is to be done."""
        if loop is self._loop and self._releases is None and not self._closed:
            return self._calls.mux
        return None

    def send(self, pending: PendingReply, request: Call) -> Sent:
        """The same for a call whose reply settles `pending`, however long that takes."""
        if pending.get_loop() is not self._loop:
            self._bind()
        if self._closed:
            pending.set_exception((forked if self._forked else closed)(self._factory.label))
        else:
            if self._releases is not None:
                self._follow()
                self._note(self._releases, pending, request)
            self._calls.call(pending, request)
        return pending

    def _note(self, releases: RecentReleases, pending: PendingReply, request: Call) -> None:
        """Remember a call by which an owner leaves, once it is answered."""

        def answered(_: object) -> None:
            if pending.exception() is None:
                releases.note(request, now())

        if request.operation.leaves:
            pending.add_done_callback(answered)

    async def ask_anyway(self, request: Call) -> Reply:
        """Ask a node of a cluster for a slot that is just moving there."""
        self._bind()
        if self._calls.mux is None:
            await wait_until(self._calls.opening(), request.until)
        if self._calls.mux is None:
            raise Unreached(f"cannot reach {self._factory.label}", self._factory.label)
        return await self._calls.mux.ask_anyway(request)

    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]:
        return all_of([self.call(request) for request in requests])

    # --- the primary -----------------------------------------------------------------------

    def _follow(self) -> None:
        """Ask now and then whether the primary is still the same; no call waits for it."""
        finder = self._factory.finder
        if self._checking is None and finder is not None and finder.is_due():
            self._checking = asyncio.create_task(self._check(finder), name="interlock-primary")

    async def _check(self, finder: PrimaryFinder) -> None:
        try:
            await finder.check_async(now() + CHECK_TIMEOUT)
        finally:
            self._checking = None
        self._leave_former()

    def _leave_former(self) -> None:
        """End every connection to a server that is not the primary any more."""
        for connection in (self._calls, self._wakes):
            mux = connection.mux
            if mux is not None and mux.generation != self._factory.generation:
                mux.abort("it is not the primary any more")
        self._tell_moved()

    def observe(self, observer: Callable[[bool], None]) -> None:
        """The observer is called when another server has become the primary."""
        self._observer = observer

    def _opened(self, connection: LazyConnection) -> None:
        """A connection is open; nothing was sent on it so far."""
        mux = connection.mux
        if connection is self._calls and mux is not None and mux.generation > self._told:
            self._repeat_releases(mux)
        self._tell_moved()

    def _repeat_releases(self, mux: Mux) -> None:
        """Tell a new primary first what it may not have heard of; no call waits for it."""
        requests = [] if self._releases is None else self._releases.withdrawals()

        def answered(last: Sent) -> None:
            if last.exception() is None:
                self._told = mux.generation

        if requests:
            mux.repeat(requests).add_done_callback(answered)
        else:
            self._told = mux.generation

    def _tell_moved(self) -> None:
        """The new primary may lack what the former one has confirmed: ask it at once."""
        if self._moves != (moves := moves_of(self._factory)):
            self._moves = moves
            self._observer(False)

    # --- wakes -----------------------------------------------------------------------------

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        self._bind()
        wakes = TaskWakes(lambda: self._leave(wakes, topics))
        limit = min(until, now() + SUBSCRIBE_TIMEOUT)
        for topic in topics:
            self._listeners.setdefault(topic, set()).add(wakes)
        try:
            for topic in topics:
                await self._subscribe(topic.channel, limit)
        except BaseException:
            self._leave(wakes, topics)
            raise
        if self._upkeep is None:
            self._upkeep = asyncio.create_task(self._keep_subscribed(), name="interlock-wakes")
        return wakes

    async def _subscribe(self, channel: str, until: float) -> None:
        """Subscribe once; a server out of reach only means that wakes will not come yet."""
        sent = self._subscribed.get(channel)
        if sent is None:
            if self._wakes.mux is None:
                await wait_until(self._wakes.opening(), until)
            if self._wakes.mux is None:
                return
            sent = self._subscribed.get(channel) or self._request(channel, self._wakes.mux)
        await wait_until(sent, until)
        refusal = sent.exception() if sent.done() else None
        if refusal is not None and not isinstance(refusal, StoreUnavailable | OutcomeUnknown):
            raise refusal

    def _request(self, channel: str, mux: Mux) -> Sent:
        sent = self._subscribed[channel] = mux.subscribe(channel, self._sharded(channel))
        sent.add_done_callback(lambda _: self._confirmed(channel, sent))
        return sent

    def _confirmed(self, channel: str, sent: Sent) -> None:
        """Or refused: then it is asked for again, because the listener that asked for it may
        have gone on by now."""
        if sent.exception() is not None and self._subscribed.get(channel) is sent:
            del self._subscribed[channel]
            self._upkeep_due.wake()

    def _leave(self, wakes: TaskWakes, topics: tuple[Topic, ...]) -> None:
        for topic in topics:
            listeners = self._listeners.get(topic, set())
            listeners.discard(wakes)
            if not listeners:
                self._listeners.pop(topic, None)
                self._unsubscribe(topic.channel)
        if not self._listeners:
            self._upkeep_due.wake()  # no task waits: the upkeep ends

    def _unsubscribe(self, channel: str) -> None:
        """Drop a channel of Java's that no task needs; the client's own stays for the next."""
        needed = any(topic.channel == channel for topic in self._listeners)
        if needed or not channel.startswith("redisson"):
            return
        if self._subscribed.pop(channel, None) is not None and self._wakes.mux is not None:
            self._wakes.mux.unsubscribe(channel, self._sharded(channel))

    def _deliver(self, channel: str, message: str | None) -> None:
        """A message came: wake the tasks that it is for.

        None came: the slot of the channel has moved, and its waiters must ask, and listen, where
        it is now; or a task wants again what was just unsubscribed.
        """
        if message is None and self._subscribed.pop(channel, None) is not None:
            self._upkeep_due.wake()
            self._wake_all()
        for topic in (Topic(channel, message), Topic(channel, None)):
            for wakes in self._listeners.get(topic, ()):
                wakes.wake()

    def _lost(self, connection: LazyConnection) -> None:
        """A connection went: what was heard on it must be heard on another."""
        if connection is self._wakes:
            self._subscribed.clear()
            self._upkeep_due.wake()
            self._wake_all()
        self._leave_former()

    def _wake_all(self) -> None:
        for listeners in self._listeners.values():
            for wakes in listeners:
                wakes.wake()

    async def _keep_subscribed(self) -> None:
        """While a task waits, see to it that its channels are subscribed; then end."""
        try:
            failures = 0
            while self._listeners:
                missing = {topic.channel for topic in self._listeners} - self._subscribed.keys()
                if missing:
                    failures = 0 if await self._resubscribe(missing) else failures + 1
                    await asyncio.sleep(0.0 if failures == 0 else min(0.05 * 2**failures, 1.0))
                else:
                    await self._upkeep_due.wait(now() + QUIET)
                    await self._check_alive()
        finally:
            self._upkeep = None

    async def _resubscribe(self, channels: set[str]) -> bool:
        try:
            for channel in channels:
                await self._subscribe(channel, now() + SUBSCRIBE_TIMEOUT)
        except StoreError as failure:
            log.warning("this client cannot listen for wakes, so its waiters poll: %s", failure)
        subscribed = channels <= self._subscribed.keys()
        if subscribed:
            self._wake_all()  # messages may have been missed: every waiter asks again
        return subscribed

    async def _check_alive(self) -> None:
        mux = self._wakes.mux
        if mux is None or now() - mux.heard_at < QUIET:
            return
        try:
            await asyncio.shield(mux.ping())
        except StoreError:
            mux.abort("the server did not answer a ping")

    # --- fork and close ------------------------------------------------------------------------

    def after_fork(self) -> None:
        # The sockets are the parent's as well; they are left to it, untouched.
        inherited.append((self._calls, self._wakes))
        self._closed = self._forked = True
        self._loop = None  # so that a call looks where it is

    def hang_up(self, awaited: bool = True) -> None:
        """Close connections on which no call waits for a reply that is `awaited`; a later call
        opens others."""
        for connection in (self._calls, self._wakes):
            if connection.mux is not None and (connection.mux.idle or not awaited):
                connection.mux.abort("the event loop is closing")

    def hang_up_unused(self) -> None:
        """Close connections on which no call waits and no task listens."""
        if not self._listeners:
            self.hang_up()

    async def close(self) -> None:
        self._closed = True
        self._wake_all()
        for task in (self._upkeep, self._checking):
            if task is not None:
                task.cancel()
                await asyncio.wait((task,))
        await asyncio.gather(*(each.close() for each in {self._calls, self._wakes}))


class GuardedAsyncLink(RedisAsyncLink):
    """The same for a server with a restart guard."""

    def __init__(self, factory: ConnectionFactory, guard: RestartGuard) -> None:
        super().__init__(factory)
        self._guard = guard

    def call(self, request: Call) -> Sent:
        return super().call(self._guard.guarded(request))


async def wait_until(future: asyncio.Future[Any], until: float) -> None:
    """Wait for something that goes on if the waiting task is cancelled, but not longer."""
    await asyncio.wait((future,), timeout=max(0.0, until - now()))


def all_of(calls: Sequence[Sent]) -> Sent:
    """Settled when each of the calls is; an error is the reply of its own call only."""
    whole: Sent = Sent()
    left = len(calls)

    def count_down(_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            whole.set_result([each.exception() or each.result() for each in calls])

    if not calls:
        whole.set_result([])
    for each in calls:
        each.add_done_callback(count_down)
    return whole


#: What forked children must neither use nor close.
inherited: list[Any] = []
