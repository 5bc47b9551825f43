"""No algorithm is made and then forgotten: each is driven, delegated to or handed on.

Calling a generator function runs nothing.  `store.withdraw(...)` without `yield from` looks
like a withdrawal and is none, and no type checker minds.  So every call that makes steps must
be `yield from`-ed, returned as it is, or handed to whoever drives it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from .driven import Makers, Reading, makes_steps
from .source import Module, modules

EVERY = modules()
MAKERS = Makers(EVERY)


@pytest.mark.parametrize("module", EVERY, ids=repr)
def test_no_steps_are_forgotten(module: Module) -> None:
    assert list(Reading(module, MAKERS).forgotten()) == []


def delegations(module: Module) -> Iterator[ast.YieldFrom]:
    """Every `yield from` of a module that must not be left out."""
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and makes_steps(node.returns):
            yield from _needed(node)


def _needed(function: ast.FunctionDef) -> list[ast.YieldFrom]:
    found = [node for node in ast.walk(function) if isinstance(node, ast.YieldFrom)]
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    # `return (yield from f())` as the only one may as well be `return f()`.
    equal = len(found) == 1 and found[0] in returned
    return [] if equal else [node for node in found if isinstance(node.value, ast.Call)]


@pytest.mark.parametrize(
    "module", [module for module in EVERY if any(delegations(module))], ids=repr
)
def test_every_omission_would_be_noticed(module: Module) -> None:
    reading = Reading(module, MAKERS)

    missed = [ast.unparse(each) for each in delegations(module) if reading.would_miss(each)]

    assert missed == []


CARELESS = """
from ..steps import Steps, listen, park

def careless(store: LockStore, introduce: Introduce) -> Steps[bool]:
    yield from park(None, 0.0)
    {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "store.withdraw('name', 'owner', 0.0)",
        "return store.withdraw('name', 'owner', 0.0)",
        "held = store.release('name', 'owner', 0.0)",
        "return not store.release('name', 'owner', 0.0)",
        "with listen((), 0.0) as wakes: pass",
        "while park(None, 0.0): pass",
        "pause = 1.0 + introduce()",
        "return 1 if introduce() else 2",
        "several = [store.withdraw(name, 'owner', 0.0) for name in 'ab']",
        "return list(store.withdraw(name, 'owner', 0.0) for name in 'ab')",
    ],
)
def test_a_careless_line_is_noticed(line: str) -> None:
    careless = Module("interlock.recipes.careless", CARELESS.format(line=line))

    assert len(list(Reading(careless, MAKERS).forgotten())) == 1
