"""What users may rely on is written down, and changes only on purpose.

After a change that is meant: `python -m tests.architecture.test_public_api` writes it anew.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import interlock
from interlock import aio

SNAPSHOT = Path(__file__).with_name("public_api.txt")


#: What the kernel calls on its own objects; no user may rely on it.
INTERNAL = {
    *("after_fork", "give", "guarded", "leave", "owe", "run", "take", "tell"),
    *("end", "enter_block", "leave_block", "forget", "inherited", "leaves", "lose", "lost_error"),
    *("reenter", "renewed", "unconfirmed", "cause", "read_on", "downgraded", "turns"),
    *(
        "client",
        "key",
        "store",
        "terms",
        "hold_class",
        "bundle_class",
        "pass_latch",
        "tick",
        "downgrade_hold",
    ),
    *("confirm_reading", "drop_callback", "undowngraded", "blocked", "seek", "new_owner"),
    *("doubted", "wanted", "way_changed"),
}


def is_promised(name: str) -> bool:
    return not name.startswith("_") and name not in INTERNAL


def public_api() -> str:
    """Every public name, with its signature where it has one."""
    lines = [line for module in (interlock, aio) for line in _module(module)]
    return "\n".join(lines) + "\n"


def _module(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        thing = getattr(module, name)
        yield f"{module.__name__}.{name}{'' if _made_for_you(thing) else _signature(thing)}"
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            yield from _members(thing)


def _made_for_you(thing: Any) -> bool:
    """Clients, locks and holds are made by `connect`, clients and locks, never by users."""
    return inspect.isclass(thing) and thing.__module__.startswith("interlock.api")


def _members(kind: type) -> Iterator[str]:
    for name, member in inspect.getmembers(kind):
        if not is_promised(name):
            continue
        if inspect.isfunction(member):
            yield f"    .{name}{_signature(member)}"
        elif isinstance(member, property):
            yield f"    .{name}"


def _signature(thing: Any) -> str:
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return f"({', '.join(base.__name__ for base in thing.__bases__)})"
    return str(inspect.signature(thing))


def test_public_api_is_as_written_down() -> None:
    assert public_api() == SNAPSHOT.read_text()


def test_names_are_sorted_and_there() -> None:
    for module in (interlock, aio):
        assert sorted(module.__all__) == module.__all__
        assert all(hasattr(module, name) for name in module.__all__)


def test_both_worlds_show_the_same_names() -> None:
    assert set(aio.__all__) <= set(interlock.__all__)


def test_every_error_is_a_public_name() -> None:
    from interlock import errors

    kinds = {name for name, thing in vars(errors).items() if inspect.isclass(thing)}

    assert {name for name in kinds if name != "Any"} <= set(interlock.__all__)


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api())
    sys.stdout.write(f"wrote {SNAPSHOT}\n")
