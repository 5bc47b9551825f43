"""A signal handler that takes and tries locks, wherever it strikes: nothing hangs or breaks."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import interlock
from interlock.errors import StoreUnavailable, UsageError
from interlock.events import Event, Parked
from interlock.parking import Signal
from interlock.testing.contract import KINDS
from tests.backends.handlers import Handler
from tests.support.stores import ADDED, STORES

Act = Callable[[interlock.Client], object]


@pytest.fixture(params=list(STORES))
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(backend: str, url_of: Callable[[str], str]) -> str:
    return url_of(backend)


@pytest.fixture
def parts(backend: str) -> tuple[str, ...]:
    """Where handlers strike."""
    return ADDED[backend]


def assert_struck(places: Iterator[int], parts: tuple[str, ...]) -> None:
    """Wherever it is, something was struck: everywhere that is much."""
    assert next(places) > (50 if parts == ("",) else 5), "hardly anything was struck"


@contextmanager
def refused_at_most() -> Iterator[None]:
    """A store that is in the middle of a call of this very thread may say so."""
    try:
        yield
    except StoreUnavailable as refusal:
        assert "this very thread" in str(refusal)


def take_another(client: interlock.Client) -> None:
    with refused_at_most(), client.lock("another"):
        pass


def try_the_same(client: interlock.Client) -> None:
    with refused_at_most(), client.lock("same").attempt():
        pass


def wait_for_the_same(client: interlock.Client) -> None:
    try:
        with refused_at_most(), client.lock("same"):
            pass
    except UsageError as refusal:
        assert "would wait for itself" in str(refusal)


def wait_for_most(client: interlock.Client) -> None:
    try:
        with refused_at_most(), majority(client):
            pass
    except UsageError as refusal:
        assert "would wait for itself" in str(refusal)


def majority(client: interlock.Client) -> Any:
    return interlock.majority_of(client.mutex("same"), client.lock("too"), client.mutex("third"))


def most(client: interlock.Client) -> None:
    with majority(client):
        pass


def pair(client: interlock.Client) -> None:
    with client.lock("same"):
        pass


def reenter(client: interlock.Client) -> None:
    with client.lock("same"), client.lock("same"):
        pass


@pytest.mark.parametrize(
    ("work", "act"),
    [
        # What is done to take a lock once is done to take it twice, before and after the second.
        *itertools.product([reenter], [take_another, try_the_same, wait_for_the_same]),
        (most, wait_for_most),
    ],
)
def test_a_handler_anywhere_in_an_acquire_and_a_release(
    url: str, backend: str, parts: tuple[str, ...], work: Act, act: Act
) -> None:
    struck, places = True, itertools.count(1)
    if work is most and parts == ("",) and backend != "memory":
        parts = ("backends",)  # what a majority adds are recipes, the same on each store
    with interlock.connect(url) as client, interlock.connect(url) as other:
        with client.lock("before"):
            pass  # the keeper runs, and connections are open
        while struck:
            handler = Handler(next(places), parts, lambda: act(client))
            handler.run(lambda: work(client))
            struck = handler.where is not None
            assert client._session.schedule.holds() == [] and client._session.queue.busy() == [], (
                handler.where
            )
            assert (
                not client._session.holds.current and client._session.holds.current.doing == ()
            ), handler.where
            assert other.inspect("same") is None, handler.where
    assert_struck(places, parts)


def test_a_handler_anywhere_in_a_block_of_the_very_same_object() -> None:
    struck, places = True, itertools.count(1)
    with interlock.connect("memory://") as client:
        lock = client.lock("same")

        def enter() -> None:
            with suppress(UsageError), refused_at_most(), lock:
                pass

        while struck:
            handler = Handler(next(places), "", enter)
            handler.run(lambda: reenter_it(lock))
            struck = handler.where is not None
            assert not client._session.holds.current, handler.where
            assert lock._request._blocks == {}, handler.where
    assert next(places) > 50, "hardly anything was struck"


def reenter_it(lock: interlock.Lock) -> None:
    with lock, lock:
        pass


@pytest.mark.parametrize("act", [take_another, try_the_same])
def test_a_handler_anywhere_in_a_wait(url: str, parts: tuple[str, ...], act: Act) -> None:
    struck, places, holds = True, itertools.count(1), list[interlock.Hold]()

    def let_go(event: Event) -> None:
        if isinstance(event, Parked) and holds:
            handler.quiet = True
            in_thread(holds.pop().release)
            handler.quiet = False

    with interlock.connect(url, observer=let_go) as client, interlock.connect(url) as other:
        while struck:
            in_thread(lambda: holds.append(other.lock("same").acquire()))
            handler = Handler(next(places), parts, lambda: act(client))
            handler.run(lambda: pair(client))
            struck = handler.where is not None
            assert client._session.schedule.holds() == [] and client._session.queue.busy() == [], (
                handler.where
            )
            assert client._session.queue.acquiring == {} and holds == [], handler.where
            assert other.inspect("same") is None, handler.where
    assert_struck(places, parts)


def in_thread(work: Callable[[], object]) -> None:
    """Do something as another thread would."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Sibling:
    """A thread of the same client that holds a lock until the handler waits for it."""

    def __init__(self, url: str, kind: str) -> None:
        self.client = interlock.connect(url, observer=self._observe)
        self._lock = KINDS[kind]
        self.waited, self._parked = 0, Signal()

    def _observe(self, event: Event) -> None:
        if isinstance(event, Parked) and event.name == "theirs":
            self.waited += 1
            self._parked.set()

    def hold(self) -> threading.Thread:
        """Take the lock, and release it when somebody waits for it, or nobody will."""
        held, self._parked = threading.Event(), Signal()

        def work() -> None:
            with self._lock(self.client, "theirs"):
                held.set()
                self._parked.wait(60)

        thread = threading.Thread(target=work)
        thread.start()
        held.wait()
        return thread

    def let_go(self) -> None:
        self._parked.set()

    def wait_for(self) -> None:
        with refused_at_most(), self._lock(self.client, "theirs", timeout=5):
            pass


def look(client: interlock.Client) -> None:
    client.inspect("same")


@pytest.mark.parametrize("kind", ["lock", "fair_lock"])  # which wait here, and at the store
@pytest.mark.parametrize("work", [pair, look])
def test_a_handler_that_waits_for_a_sibling_does_not_keep_it_from_going_on(
    url: str, parts: tuple[str, ...], work: Act, kind: str
) -> None:
    struck, places, sibling = True, itertools.count(1), Sibling(url, kind)
    with sibling.client as client:
        with client.lock("before"):
            pass  # the keeper runs, and connections are open
        while struck:
            thread = sibling.hold()
            handler = Handler(next(places), parts, sibling.wait_for)
            try:
                handler.run(lambda: work(client))
            except interlock.AcquireTimeout:
                pytest.fail(f"they waited for each other: {handler.where}")
            finally:
                sibling.let_go()
                thread.join()
            struck = handler.where is not None
            assert client._session.schedule.holds() == []
            assert client._session.queue.busy() == [], handler.where
    assert sibling.waited > (10 if parts == ("",) else 0), "the handler was hardly ever heard"


@pytest.mark.parametrize("act", [take_another, try_the_same])
def test_a_handler_anywhere_in_the_first_use_of_a_client(
    url: str, parts: tuple[str, ...], act: Act
) -> None:
    struck, places = True, itertools.count(1)
    while struck:
        with interlock.connect(url) as client:
            handler = Handler(next(places), parts, lambda c=client: act(c))  # type: ignore[misc]
            handler.run(lambda c=client: pair(c))  # type: ignore[misc]
            struck = handler.where is not None
            assert client._session.schedule.holds() == [] and client._session.queue.busy() == [], (
                handler.where
            )
    assert_struck(places, parts)


def test_a_lock_that_a_handler_keeps_is_renewed(url: str) -> None:
    kept: list[Any] = []
    struck, places = True, itertools.count(1)
    with interlock.connect(url) as client:
        while struck:

            def keep() -> None:
                with refused_at_most():
                    kept.append(client.lock(f"kept {len(kept)}").acquire())

            handler = Handler(next(places), "", keep)
            handler.run(lambda: pair(client))
            struck = handler.where is not None
        assert len(kept) > 20
        assert {hold.owner for hold in kept} == {
            hold.owner for hold in client._session.schedule.holds()
        }
        for hold in kept:
            hold.release()
