"""The error tree is as drawn, and every error survives being sent elsewhere."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import re
from typing import NamedTuple

import pytest

from interlock import errors
from interlock.errors import (
    AcquireTimeout,
    BarrierTimeout,
    InterlockError,
    LockLost,
    NotHeld,
    OutcomeUnknown,
    StaleToken,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    Unsupported,
    UsageError,
)

from .source import modules

EXAMPLES: list[InterlockError] = [
    InterlockError("something"),
    AcquireTimeout("orders:42", "host:17", 5.0),
    BarrierTimeout("phase-1", 4, 3, 5.0),
    LockLost("orders:42", 7, 31.5, "the store says so"),
    NotHeld("orders:42", "owner"),
    StaleToken("orders", 6, 7),
    StoreError("a sentence", "redis://host"),
    StoreUnavailable("a sentence", "redis://host"),
    OutcomeUnknown("a sentence", "redis://host"),
    StoreMisconfigured("a sentence", "redis://host"),
    Unsupported("a sentence"),
    UsageError("a sentence"),
]


class Drawn(NamedTuple):
    """One line of the drawing."""

    name: str
    parent: str | None
    also: str | None
    fields: list[str]


def drawing() -> list[Drawn]:
    """Read the tree in the docstring of `errors`."""
    line = re.compile(r"^    ([│ ├└─]*)(\w+)(?: \((\w+)\))?(.*)$")
    lineage: list[str] = []
    drawn: list[Drawn] = []
    for text in (errors.__doc__ or "").split("\n\n")[1].split("\n"):
        found = line.match(text)
        assert found is not None, text
        branch, name, also, rest = found.groups()
        depth = len(branch) // 4
        del lineage[depth:]
        drawn.append(Drawn(name, lineage[-1] if lineage else None, also, _fields(rest)))
        lineage.append(name)
    return drawn


def _fields(rest: str) -> list[str]:
    return re.findall(r"(?<=\s)\.(\w+)", rest)


@pytest.mark.parametrize("drawn", drawing(), ids=lambda drawn: drawn.name)
def test_error_is_as_drawn(drawn: Drawn) -> None:
    kind = getattr(errors, drawn.name)
    bases = [base.__name__ for base in kind.__bases__]

    assert bases == [each for each in (drawn.parent, drawn.also) if each] or drawn.parent is None


def test_every_error_is_drawn() -> None:
    kinds = {name for name, thing in vars(errors).items() if _is_error(thing)}

    assert {drawn.name for drawn in drawing()} == kinds


def _is_error(thing: object) -> bool:
    return inspect.isclass(thing) and issubclass(thing, InterlockError)


def test_there_is_an_example_of_each() -> None:
    assert {type(error).__name__ for error in EXAMPLES} == {drawn.name for drawn in drawing()}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_has_the_fields_that_are_drawn(error: InterlockError) -> None:
    fields = {drawn.name: drawn.fields for drawn in drawing()}[type(error).__name__]

    assert set(fields) <= vars(error).keys()


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_survives_pickling(error: InterlockError) -> None:
    arrived = pickle.loads(pickle.dumps(error))

    assert type(arrived) is type(error)
    assert (str(arrived), arrived.args, vars(arrived)) == (str(error), error.args, vars(error))


def kinds_of_backends() -> list[type[InterlockError]]:
    """The kinds that a backend tells apart from others, wherever they are."""
    for module in modules():
        if not module.name.endswith("__main__") and ".testing" not in module.name:
            importlib.import_module(module.name)
    known = {getattr(errors, drawn.name) for drawn in drawing()}
    found: list[type[InterlockError]] = []
    left: list[type[InterlockError]] = [InterlockError]
    while left:
        below = left.pop().__subclasses__()
        left += below
        found += [each for each in below if each not in known and ours(each)]
    return found


def ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "interlock"


def test_users_read_only_names_that_are_drawn() -> None:
    kinds = kinds_of_backends()

    assert len(kinds) > 5
    for kind in kinds:
        public = getattr(errors, kind.__name__)
        assert issubclass(kind, public)
        assert (kind.__module__, kind.__qualname__) == (public.__module__, public.__name__)


def test_error_of_a_backend_arrives_as_what_users_know() -> None:
    for kind in kinds_of_backends():
        error: InterlockError = kind("a sentence", "redis://host")
        error.add_note("a note")
        arrived = pickle.loads(pickle.dumps(error))
        assert type(arrived) is getattr(errors, kind.__name__)
        assert (str(arrived), vars(arrived)) == (str(error), vars(error))
        assert type(copy.copy(error)) is kind
