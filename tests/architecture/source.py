"""The project's own source, as the architecture tests read it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"


class Module:
    """One file of the package: its dotted name, its text and its syntax tree."""

    def __init__(self, name: str, text: str, is_package: bool = False) -> None:
        self.name, self.text, self.is_package = name, text, is_package

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[str]:
        """Dotted names of all that is imported, wherever the import stands."""
        return list(imported(self, self.nodes))

    def __repr__(self) -> str:
        return self.name


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    return tuple(_module(path) for path in sorted((SRC / "interlock").rglob("*.py")))


def _module(path: Path) -> Module:
    parts = path.relative_to(SRC).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    return Module(name, path.read_text(), is_package)


def imported(module: Module, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Dotted names of what some nodes of a module import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _base(module: Module, node: ast.ImportFrom) -> str:
    """What a `from … import` imports from, with its dots resolved."""
    if not node.level:
        return node.module or ""
    package = module.name if module.is_package else module.name.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


def owner_of(dotted: str, known: set[str]) -> str | None:
    """The module that a dotted name lives in, or is; None when it is not of ours."""
    while dotted and dotted not in known:
        dotted = dotted.rpartition(".")[0]
    return dotted or None
