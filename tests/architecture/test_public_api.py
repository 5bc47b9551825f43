"""What users may rely on is written down, and changes only on purpose.

After a change that is meant: `python -m tests.architecture.test_public_api` writes it anew.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import interlock
from interlock import aio, testing

#: Where users find public names.
MODULES = (interlock, aio, interlock.fence, aio.fence, testing)

SNAPSHOT = Path(__file__).with_name("public_api.txt")


def is_promised(name: str) -> bool:
    return not name.startswith("_")


def public_api() -> str:
    """Every public name, with its signature where it has one."""
    lines = [line for module in MODULES for line in _module(module)]
    return "\n".join(lines) + "\n"


def _module(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        thing = getattr(module, name)
        yield f"{module.__name__}.{name}{'' if _made_for_you(thing) else _signature(thing)}"
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            yield from _members(thing)


def _made_for_you(thing: Any) -> bool:
    """Clients, locks and holds are made by `connect`, clients and locks, never by users."""
    return inspect.isclass(thing) and thing.__init__ is not object.__init__ and _is_face(thing)


def _is_face(kind: type) -> bool:
    return any(base.__module__.startswith("interlock.api") for base in kind.__mro__)


def _members(kind: type) -> Iterator[str]:
    """Everything that an object of a class shows: methods, properties and plain attributes."""
    for name in sorted(set(dir(kind)) | set(_fields(kind))):
        if is_promised(name):
            yield f"    .{name}{_described(kind, name)}"


def _fields(kind: type) -> dict[str, Any]:
    return get_type_hints(kind) if is_dataclass(kind) else {}


def _described(kind: type, name: str) -> str:
    member = inspect.getattr_static(kind, name, None)
    if isinstance(member, property):
        assert member.fget is not None
        return f": {_resolved(kind, inspect.signature(member.fget).return_annotation)}"
    if inspect.isfunction(member) or isinstance(member, classmethod):
        return _resolved(kind, _signature(getattr(kind, name)))
    return f": {inspect.formatannotation(_fields(kind).get(name, type(member)))}"


def _resolved(kind: type, annotation: str) -> str:
    """An annotation as it is for one class: its type variables say what they stand for there."""
    meanings = {"Self": kind.__name__, **_meanings(kind)}
    for variable, meaning in meanings.items():
        annotation = re.sub(rf"\b{variable}\b", meaning, annotation)
    return annotation


def _meanings(kind: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for base in kind.__mro__:
        for generic in getattr(base, "__orig_bases__", ()):
            variables = getattr(get_origin(generic), "__parameters__", ())
            for variable, meaning in zip(variables, get_args(generic), strict=False):
                name = getattr(meaning, "__name__", str(meaning))
                found.setdefault(variable.__name__, found.get(name, name))
    return found


def _signature(thing: Any) -> str:
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return f"({', '.join(base.__name__ for base in thing.__bases__)})"
    if not inspect.isclass(thing) and not inspect.isfunction(thing):
        return f" = {thing}"
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(thing)))


def test_public_api_is_as_written_down() -> None:
    assert public_api() == SNAPSHOT.read_text()


@pytest.mark.parametrize("url", ["memory://"])
def test_objects_show_what_is_promised_and_nothing_else(url: str) -> None:
    """What a class does not show, an object of it does not show either."""
    with interlock.connect(url) as client:
        lock, rwlock = client.lock("a"), client.rwlock("r")
        with lock as hold, rwlock.write() as writing, client.multilock("x", "y") as several:
            shown = [client, lock, rwlock, rwlock.read(), client.latch("l"), hold, writing]
            for each in (*shown, several, client.semaphore("s", permits=1)):
                public = {name for name in dir(each) if is_promised(name)}
                assert public == {name for name in dir(type(each)) if is_promised(name)}
                assert all(inspect.getdoc(getattr(type(each), name)) for name in public), each


def test_names_are_sorted_and_there() -> None:
    for module in MODULES:
        assert sorted(module.__all__) == module.__all__
        assert all(hasattr(module, name) for name in module.__all__)


def test_both_worlds_show_the_same_names() -> None:
    assert set(aio.__all__) <= set(interlock.__all__)
    assert aio.fence.__all__ == interlock.fence.__all__


def test_every_error_is_a_public_name() -> None:
    from interlock import errors

    kinds = {name for name, thing in vars(errors).items() if inspect.isclass(thing)}

    assert {name for name in kinds if name != "Any"} <= set(interlock.__all__)


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api())
    sys.stdout.write(f"wrote {SNAPSHOT}\n")
