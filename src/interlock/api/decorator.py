"""The `locked` decorator: a function that runs under a lock named after its arguments."""

from __future__ import annotations

import functools
import inspect
import string
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, ParamSpec, TypeVar

from ..errors import AcquireTimeout, UsageError
from ..model import Seconds, checked_timeout
from ..words import given, shown
from .lock import AsyncLock, Lock

P = ParamSpec("P")
R = TypeVar("R")

Naming = Callable[..., str]


def naming(function: Callable[..., Any], name: str | Naming) -> Naming:
    """How the name of the lock follows from a call; wrong templates fail right here."""
    if not isinstance(name, str):
        if not callable(name):
            raise TypeError(
                f"name must be a str or a function of the arguments, not {given(name)}"
            )
        return name
    signature, template = inspect.signature(function), name
    for _, field, spec, _ in string.Formatter().parse(template):
        if field is not None:
            _check_field(field, template, signature)
        for _, inner, _, _ in string.Formatter().parse(spec or ""):
            if inner is not None:
                _check_field(inner, template, signature)

    def from_arguments(*args: Any, **kwargs: Any) -> str:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return template.format(**bound.arguments)

    return from_arguments


def _check_field(field: str, template: str, signature: inspect.Signature) -> None:
    argument = field.partition(".")[0].partition("[")[0]
    if not argument or argument.isdigit():
        raise UsageError(f"the lock name {template!r} must name its arguments, as in {{order}}")
    if argument not in signature.parameters:
        known = ", ".join(signature.parameters) or "nothing"
        raise UsageError(
            f"the lock name {template!r} needs an argument {argument!r}, "
            f"but the function takes {known}"
        )


def locked_sync(
    lock_for: Callable[[str], Lock], name: str | Naming, on_busy: Literal["raise", "skip"]
) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """Decorate functions."""

    def decorate(function: Callable[P, R]) -> Callable[P, R | None]:
        refuse_generators(function)
        if inspect.iscoroutinefunction(function):
            raise UsageError(f"{function.__name__} is async: decorate it by an aio client")
        name_of = naming(function, name)

        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            lock = lock_for(name_of(*args, **kwargs))
            try:
                hold = lock.acquire()
            except AcquireTimeout:
                if on_busy == "skip":
                    return None
                raise
            with hold:
                return function(*args, **kwargs)

        return guarded

    return decorate


def locked_async(
    lock_for: Callable[[str], AsyncLock], name: str | Naming, on_busy: Literal["raise", "skip"]
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R | None]]]:
    """Decorate coroutine functions."""

    def decorate(
        function: Callable[P, Awaitable[R]],
    ) -> Callable[P, Coroutine[Any, Any, R | None]]:
        refuse_generators(function)
        if not inspect.iscoroutinefunction(function):
            raise UsageError(f"{function.__name__} is not async: decorate it by a plain client")
        name_of = naming(function, name)

        @functools.wraps(function)
        async def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            lock = lock_for(name_of(*args, **kwargs))
            try:
                hold = await lock.acquire()
            except AcquireTimeout:
                if on_busy == "skip":
                    return None
                raise
            async with hold:
                return await function(*args, **kwargs)

        return guarded

    return decorate


def refuse_generators(function: Callable[..., Any]) -> None:
    """A generator only begins when it is called; its body would run without the lock."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            f"{function.__name__} is a generator, whose body runs after the call: "
            "take the lock inside of it"
        )


def patience(timeout: Seconds | None, on_busy: str) -> Seconds | None:
    """How long a call waits; one that may be skipped tries once, unless it is told."""
    if on_busy not in ("raise", "skip"):
        raise UsageError(f"on_busy must be 'raise' or 'skip', not {shown(on_busy)}")
    checked_timeout(timeout)
    return 0.0 if timeout is None and on_busy == "skip" else timeout
