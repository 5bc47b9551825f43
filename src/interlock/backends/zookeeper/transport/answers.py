"""What comes from the servers: answers, of requests that are awaited and of those that are not;
what these prove of the session; and what becomes of watched nodes.

A session's requests are executed in their order, so a sender of something behind its own request
need not await the answer.  But a cut may swallow it, and what was to be removed would stay as
long as the session.  So it is sent again after each cut until there is an answer; everything that
is sent in this way may be repeated.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ....drive import now
from ....errors import OutcomeUnknown, StoreError
from ..errors import reply_of_error, unanswered
from .requests import ANSWERED_BY_LEADER, Answer, Exists, Refusal, ZkRequest

log = logging.getLogger("interlock.zookeeper")

#: Seconds after which a caller waits for an answer no longer, however long there would be time:
#: a connection that gives none breaks before, unless the servers behind it are at odds.
LONGEST_ANSWER = 30.0


class Batch:
    """Requests made at once; `arrived` is called in kazoo's loop when all are answered."""

    __slots__ = ("_arrived", "done", "replies", "requests", "sent")

    def __init__(self, requests: Sequence[ZkRequest], arrived: Callable[[], None]) -> None:
        self.requests, self._arrived = requests, arrived
        self.replies: list[Any] = [None] * len(requests)
        self.done, self.sent = False, now()

    def settle(self, place: int, reply: Any) -> None:
        """Note an answer.  What needs no server is answered before anything is sent, and the
        rest in kazoo's loop, so never in two threads at once."""
        if self.replies[place] is None:
            self.replies[place] = reply
            if None not in self.replies and not self.done:
                self.done = True
                self._arrived()

    def given_up(self, store: str) -> list[Any]:
        """What is known when the caller waits no longer."""
        late = "the server did not answer in time"
        return [
            unanswered(request, store, late) if reply is None else reply
            for request, reply in zip(self.requests, self.replies, strict=True)
        ]


class AnswerContext(Protocol):
    """The transport, as an answer sees it."""

    label: str
    clock: SessionClock
    watches: Watches

    @property
    def session(self) -> int: ...


class PendingAnswer:
    """Where kazoo puts one answer: it has the two methods of kazoo's own results."""

    __slots__ = ("_batch", "_place", "_transport")

    def __init__(self, transport: AnswerContext, batch: Batch, place: int) -> None:
        self._transport, self._batch, self._place = transport, batch, place

    def set(self, value: Any) -> None:
        # Of a node that does not exist kazoo says nothing.
        found = Refusal.MISSING if value is None else value
        self._settle(Answer(found, self._transport.session, self._batch.sent))

    def set_exception(self, error: BaseException) -> None:
        transport, request = self._transport, self._batch.requests[self._place]
        reply = reply_of_error(request, error, transport.label)
        if isinstance(reply, StoreError):
            self._unwatch(request)
            self._batch.settle(self._place, reply)
        else:
            self._settle(Answer(reply, transport.session, self._batch.sent))

    def _settle(self, answer: Answer) -> None:
        """The server has answered, and so has heard of us."""
        batch, request = self._batch, self._batch.requests[self._place]
        if answer.value is Refusal.MISSING and not isinstance(request, Exists):
            self._unwatch(request)
        self._transport.watches.catch_up()
        self._transport.clock.answered(batch.sent, now())
        if isinstance(request, ANSWERED_BY_LEADER):
            self._transport.clock.leader_answered(batch.sent)
        batch.settle(self._place, answer)

    def _unwatch(self, request: ZkRequest) -> None:
        topic = getattr(request, "topic", None)
        if topic is not None:
            self._transport.watches.unwatch(request.path, topic)


class UnawaitedRequests:
    """Requests without a waiting caller that were not sent yet, or not answered."""

    def __init__(self, store: str) -> None:
        self._store = store
        self.waiting: deque[ZkRequest] = deque()

    def add(self, request: ZkRequest) -> None:
        self.waiting.append(request)

    def left(self) -> list[tuple[ZkRequest, UnawaitedAnswer]]:
        """All that is left, each with the object that hears its answer.

        The next thread that finds a connection sends it, and strikes it off behind that, so that
        no interruption loses it.  Of two threads that are at it both may send the same.
        """
        return [(request, UnawaitedAnswer(self, request)) for request in tuple(self.waiting)]

    def sent(self, requests: Sequence[tuple[ZkRequest, UnawaitedAnswer]]) -> None:
        """Strike off what was handed over: if it fails, it is added again."""
        for request, _ in requests:
            with suppress(ValueError):
                self.waiting.remove(request)

    def failed(self, request: ZkRequest, error: BaseException) -> None:
        reply = reply_of_error(request, error, self._store)
        if isinstance(reply, OutcomeUnknown):
            self.add(request)
        elif isinstance(reply, StoreError):
            log.warning("%s", reply)


class UnawaitedAnswer:
    """Where kazoo puts the answer to a request that no caller waits for."""

    __slots__ = ("_request", "_requests")

    def __init__(self, requests: UnawaitedRequests, request: ZkRequest) -> None:
        self._requests, self._request = requests, request

    def set(self, value: Any) -> None:
        """It is done."""

    def set_exception(self, error: BaseException) -> None:
        self._requests.failed(self._request, error)


# --- the session ---------------------------------------------------------------------------

#: Half a tick, as a part of the shortest session that servers allow.
LAG = 0.25

#: As a part of a session: a leader that has answered so lately need not be asked again.
RECENT = 1 / 6

#: How many messages of one session's length are remembered.
REMEMBERED = 24


class SessionClock:
    """From when the servers count our silence.  Pure, but for what it remembers.

    A session is kept by the leader, and ends a session's length after the leader last heard of
    it.  But mostly we talk to a follower, which tells the leader of its clients only when the
    leader asks, every half tick; neither a `sync` nor a write that passes through it says
    anything of us.  A follower that dies takes with it what it has not told.

    So what can be relied on is this: when the leader answers a question, it has heard of
    everything that the follower had received half a tick before the question was asked.  From
    the newest such message on a session's length is ours.  We are not told how long a tick is;
    a session has at least two, unless the servers were configured otherwise, so half a tick is
    a quarter of it at most.  A greeting is different: whoever opens a session, or comes back
    to it, is brought before the leader.
    """

    def __init__(self, session_timeout: float) -> None:
        #: Seconds that the servers keep a silent session.
        self.session_timeout = session_timeout
        self._answered: deque[tuple[float, float]] = deque(maxlen=2 * REMEMBERED)
        self._greeted = self._leader = -math.inf

    def greeted(self, sent: float, session_timeout: float) -> None:
        """A connection was made, by a greeting of `sent`; the session lasts so long."""
        self.session_timeout, self._greeted, self._leader = session_timeout, sent, sent
        self._answered.clear()

    def answered(self, sent: float, heard: float) -> None:
        """A message of `sent` was answered; those close behind another say nothing new."""
        answers = self._answered
        if not answers or sent >= answers[-1][0] + self.session_timeout / REMEMBERED:
            answers.append((sent, heard))

    def leader_answered(self, sent: float) -> None:
        """The leader has answered a question of `sent`."""
        self._leader = max(self._leader, sent)

    def leader_is_recent(self, now: float) -> bool:
        """Whether the leader has answered so lately that nothing is won by asking it again."""
        return now - self._leader < self.session_timeout * RECENT

    def alive_since(self, asked: float) -> float:
        """When the leader last heard of us for sure, as it has answered questions until now; not
        later than `asked`, when the caller asked for what it relies on."""
        question = min(asked, self._leader)
        told = question - self.session_timeout * LAG
        sent = [sent for sent, heard in tuple(self._answered) if heard <= told]
        return min(question, max([self._greeted, *sent]))


# --- watches -------------------------------------------------------------------------------


class Wakeable(Protocol):
    """What a waiter waits for; any thread may wake it."""

    def wake(self) -> None: ...


class Watches:
    """The topics of each path, and the waiters of each topic.

    They are changed in kazoo's loop alone.  Other threads only leave word, which takes no mutex:
    a thread may be interrupted by a signal handler wherever it is, and the handler waits for
    answers that come through the loop, so the loop must never wait for that thread.
    """

    def __init__(self) -> None:
        self._words: deque[tuple[Callable[[Any, Any], None], Any, Any]] = deque()
        # Between two loops, of which the older is about to end.
        self._mutex = threading.RLock()
        self._topics: dict[str, set[Any]] = {}
        self._paths: dict[Any, set[str]] = {}
        self._waiters: dict[Any, set[Wakeable]] = {}

    # --- left by any thread ---------------------------------------------------------------

    def watch(self, path: str, topic: Any) -> None:
        """What becomes of a node is to be heard under a topic."""
        self._words.append((self._watch, path, topic))

    def listen(self, topic: Any, waiter: Wakeable) -> None:
        """Whatever is heard under a topic wakes a waiter."""
        self._words.append((self._listen, topic, waiter))

    def leave(self, topic: Any, waiter: Wakeable) -> None:
        """A waiter has gone; what the last one of a topic wanted to hear is forgotten."""
        self._words.append((self._leave, topic, waiter))

    # --- in kazoo's loop --------------------------------------------------------------------

    def catch_up(self) -> None:
        """Hear what was left, so that it does not pile up where nothing else is heard."""
        if self._words:
            with self._mutex:
                self._hear()

    def _hear(self) -> None:
        words = self._words
        while words:
            act, subject, what = words.popleft()
            act(subject, what)

    def unwatch(self, path: str, topic: Any) -> None:
        """There is no such node, so nothing will become of it."""
        with self._mutex:
            self._hear()
            self._drop(path, topic)

    def fired(self, path: str) -> list[Any]:
        """Something became of a node: a waiter that wants to hear more must ask again."""
        with self._mutex:
            self._hear()
            topics = list(self._topics.get(path, ()))
            for topic in topics:
                self._drop(path, topic)
            return topics

    def clear(self) -> set[Any]:
        """Nothing is watched any more; answers what was."""
        with self._mutex:
            self._hear()
            topics, self._topics, self._paths = {*self._paths}, {}, {}
            return topics

    def waiters(self, topic: Any) -> list[Wakeable]:
        with self._mutex:
            self._hear()
            return list(self._waiters.get(topic, ()))

    def every_waiter(self) -> list[Wakeable]:
        with self._mutex:
            self._hear()
            return [waiter for each in self._waiters.values() for waiter in each]

    def _watch(self, path: str, topic: Any) -> None:
        self._topics.setdefault(path, set()).add(topic)
        self._paths.setdefault(topic, set()).add(path)

    def _listen(self, topic: Any, waiter: Wakeable) -> None:
        self._waiters.setdefault(topic, set()).add(waiter)

    def _leave(self, topic: Any, waiter: Wakeable) -> None:
        waiters = self._waiters.get(topic, set())
        waiters.discard(waiter)
        if not waiters:
            self._waiters.pop(topic, None)
            for path in list(self._paths.get(topic, ())):
                self._drop(path, topic)

    def _drop(self, path: str, topic: Any) -> None:
        for index, key, value in ((self._topics, path, topic), (self._paths, topic, path)):
            values = index.get(key)
            if values is not None:
                values.discard(value)
                if not values:
                    del index[key]
