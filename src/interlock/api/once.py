"""What is done once: a decorator and a block, in both worlds."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from ..drive import now
from ..errors import LockLost, NotHeld, UsageError
from ..jobs import once
from ..jobs.claims import Begun, history_of
from ..jobs.history import RUNNING, Rules, Run
from ..model import Seconds, checked_name, checked_terms, checked_timeout, spelled
from ..recipes.lock import ANSWER
from ..steps import Steps
from .claimant import LockClaimant, lock_of
from .copying import Described
from .decorator import Naming, naming, refuse_generators
from .hold import AsyncHold, Hold
from .jobs import all_of_them, told_runs

P = ParamSpec("P")
R = TypeVar("R")


class OpenRun:
    """A run that has begun: what its block, or its call, has to leave."""

    __slots__ = ("began", "begun", "claimant")

    def __init__(self, claimant: LockClaimant, begun: Begun) -> None:
        self.claimant, self.begun, self.began = claimant, begun, now()


class BaseOnce(Described):
    """A description of what is done once, and the client that does it."""

    __slots__ = ("__weakref__", "_client", "_key", "_open", "_remember", "_rules", "_timeout")
    _client: Any

    def __init__(
        self,
        client: Any,
        key: str | Naming,
        remember: Seconds | str | None,
        timeout: Seconds | str | None,
        retry_failed: bool,
        retry_dead: bool,
    ) -> None:
        self._client, self._key = client, checked_name(key) if isinstance(key, str) else key
        self._remember = once.checked_memory(remember)
        self._timeout = checked_timeout(spelled("timeout", timeout))
        self._rules: Rules = once.rules(retry_failed, retry_dead)
        #: The open blocks, apart for each thread and task.
        self._open: dict[Any, list[OpenRun | None]] = {}
        client._session.backend.registers  # which a store that has none refuses  # noqa: B018

    @property
    def _session(self) -> Any:
        return self._client._session

    def _own_key(self) -> str:
        if isinstance(self._key, str):
            return self._key
        raise UsageError("a key that is a function of the arguments needs a function to decorate")

    def _claimant(self, key: str) -> LockClaimant:
        lock = lock_of(self._client, once.PREFIX + key, checked_terms(30.0, True, None))
        return LockClaimant(lock, key, self._rules, "", once.KEPT)

    def _enter(self, key: str) -> Steps[OpenRun | Run]:
        claimant = self._claimant(key)
        if self._session.holds.current.get(claimant.lock._key) is not None:
            return Run(key, RUNNING, 0.0)  # by this very thread or task, further out
        taken = yield from once.enter(claimant, self._timeout)
        if isinstance(taken, Run):
            return taken
        taken.hold._enter_block()
        return OpenRun(claimant, taken)

    def _leave(self, run: OpenRun, error: BaseException | None) -> Steps[None]:
        lost: LockLost | None = run.begun.hold._lease.exit_block(error)
        took = now() - run.began
        yield from once.leave(run.claimant, run.begun, lost or error, self._remember, took)
        if lost is not None:
            raise lost from error

    def _entered(self, entered: OpenRun | Run) -> Any:
        """The hold of a block that does it; None where another has, or does."""
        run = None if isinstance(entered, Run) else entered
        self._open.setdefault(self._session.holds.current.ref, []).append(run)
        return None if run is None else run.begun.hold

    def _left(self) -> OpenRun | None:
        """The run of the block that ends now, if it has one."""
        ref = self._session.holds.current.ref
        if ref not in self._open:
            raise NotHeld(once.PREFIX + self._own_key())
        run = self._open[ref].pop()
        if not self._open[ref]:
            del self._open[ref]
        return run

    def _record(self) -> Steps[Run | None]:
        claimant = self._claimant(self._own_key())
        locks, until = claimant.session.backend.locks, now() + ANSWER
        history, info = yield from all_of_them(
            history_of(claimant), locks.look(claimant.lock.name, until)
        )
        return next(iter(told_runs(history, info)), None)

    def __repr__(self) -> str:
        key = self._key if isinstance(self._key, str) else "…"
        return f"<{type(self).__name__} {key!r} on {self._session.backend.label}>"


class Once(BaseOnce):
    """What is done once, by threads: decorate a function with it, or enter it as a block."""

    __slots__ = ()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R | None]:
        """Decorate a function: it returns None where it was done before."""
        refuse_generators(function)
        if inspect.iscoroutinefunction(function):
            raise UsageError(f"{function.__name__} is async: decorate it by an aio client")
        key_of = naming(function, self._key)

        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            session = self._session
            entered = session.run(self._enter(checked_name(key_of(*args, **kwargs))))
            if isinstance(entered, Run):
                return None
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                session.run(self._leave(entered, error))
                raise
            session.run(self._leave(entered, None))
            return result

        return guarded

    def record(self) -> Run | None:
        """Who has done it, when, and how it ended; None when it was not done, or is forgotten.

        Cost: one round trip.
        """
        return self._session.run(self._record())  # type: ignore[no-any-return]

    def __enter__(self) -> Hold | None:
        hold: Hold | None = self._entered(self._session.run(self._enter(self._own_key())))
        return hold

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        run = self._left()
        if run is not None:
            self._session.run(self._leave(run, error))


class AsyncOnce(BaseOnce):
    """What is done once, by tasks: decorate a function with it, or enter it as a block."""

    __slots__ = ()

    def __call__(
        self, function: Callable[P, Awaitable[R]]
    ) -> Callable[P, Coroutine[Any, Any, R | None]]:
        """Decorate a function: it returns None where it was done before."""
        refuse_generators(function)
        if not inspect.iscoroutinefunction(function):
            raise UsageError(f"{function.__name__} is not async: decorate it by a plain client")
        key_of = naming(function, self._key)

        @functools.wraps(function)
        async def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            session = self._session
            entered = await session.run(self._enter(checked_name(key_of(*args, **kwargs))))
            if isinstance(entered, Run):
                return None
            try:
                result = await function(*args, **kwargs)
            except BaseException as error:
                await session.run(self._leave(entered, error))
                raise
            await session.run(self._leave(entered, None))
            return result

        return guarded

    async def record(self) -> Run | None:
        """Who has done it, when, and how it ended; None when it was not done, or is forgotten.

        Cost: one round trip.
        """
        return await self._session.run(self._record())  # type: ignore[no-any-return]

    async def __aenter__(self) -> AsyncHold | None:
        entered = await self._session.run(self._enter(self._own_key()))
        hold: AsyncHold | None = self._entered(entered)
        return hold

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        run = self._left()
        if run is not None:
            await self._session.run(self._leave(run, error))
