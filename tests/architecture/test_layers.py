"""Imports only point down, and siblings never import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from .source import Module, imported, modules, owner_of

#: Lowest first.  `interlock` itself is the package's front door, where the names are shown.
ORDER = [
    ("words",),
    ("errors",),
    ("model",),
    ("steps",),
    ("abreast", "events"),
    ("spi",),
    ("ledger",),
    ("recipes",),
    ("drive",),
    ("parking", "passwords", "tasks"),
    ("links",),
    ("backends",),
    ("jobs",),
    ("session",),
    ("api",),
    ("fence",),
    ("interlock",),
    ("aio", "cli", "testing"),
    ("__main__",),
]

RANK = {layer: rank for rank, layers in enumerate(ORDER) for layer in layers}


def layer(dotted: str) -> str:
    """`interlock.api.lock` lives in the layer `api`."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 else "interlock"


def family(dotted: str) -> str:
    """What must not know its siblings: a layer, or one backend of several."""
    parts = dotted.split(".")
    return ".".join(parts[1:3]) if parts[1:2] == ["backends"] else layer(dotted)


KNOWN = {module.name for module in modules()}


def upward_imports(module: Module) -> Iterator[str]:
    """Imports that point up, or sideways."""
    for dotted in module.imports:
        target = owner_of(dotted, KNOWN)
        if target is not None and not allowed(module.name, target):
            yield f"{module.name} imports {target}"


def allowed(importer: str, imported: str) -> bool:
    if family(importer) == family(imported):
        return True
    return RANK[layer(importer)] > RANK[layer(imported)]


def test_every_module_has_a_layer() -> None:
    assert {layer(module.name) for module in modules()} <= RANK.keys()


def test_imports_only_point_down() -> None:
    assert [line for module in modules() for line in upward_imports(module)] == []


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("interlock.recipes.lock", "from ..api import hold"),
        ("interlock.recipes.lock", "from ..drive import now"),
        ("interlock.recipes.lock", "import interlock"),
        ("interlock.errors", "def late():\n    from interlock.model import Grant"),
        ("interlock.backends.memory.backend", "from ..redis import keys"),
        ("interlock.backends.memory.backend", "from ..redis.keys import WAKE"),
        ("interlock.cli.demo", "from ..testing import plugin"),
        ("interlock.aio", "from .cli import demo"),
    ],
)
def test_a_planted_import_is_caught(importer: str, line: str) -> None:
    assert importer in KNOWN
    assert list(upward_imports(Module(importer, line)))


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        module.name: {
            target
            for dotted in imported(module, when_loaded(module.tree))
            if (target := owner_of(dotted, KNOWN)) not in (None, module.name)
            # A package is loaded before what is in it, and that is no circle.
            and not module.name.startswith(f"{target}.")
        }
        for module in modules()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))


def when_loaded(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is loaded: not in functions, not for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from when_loaded(node)
