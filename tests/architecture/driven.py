"""Which calls make steps, and which of those nobody drives: read from the source alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from .source import Module

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

#: Who drives steps, or keeps them to be driven.
DRIVERS = {
    "run",
    "arun",
    "Task",
    "at_node",
    "elsewhere",
    "or_restore",
    "run_by",
    "abreast",
    "side_by_side",
    "all_of_them",
}

#: Objects whose methods are named like those of stores but answer at once.
IMMEDIATE = re.compile(r"(link|records|world|lines|_lock)$")


def makes_steps(annotation: ast.expr | None) -> bool:
    """Whether an annotation says `Steps[...]`, or something that returns it."""
    return annotation is not None and "Steps[" in ast.unparse(annotation)


class Makers:
    """Every function, method and alias of the package whose result is steps."""

    def __init__(self, every: Sequence[Module]) -> None:
        self.functions: set[str] = set()
        self.methods: set[str] = set()
        self.modules = {module.name for module in every}
        self.aliases = {
            ast.unparse(node.target)
            for module in every
            for node in module.tree.body
            if isinstance(node, ast.AnnAssign) and makes_steps(node.value)
        }
        for module in every:
            self._gather(module)

    def _gather(self, module: Module) -> None:
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef) and makes_steps(node.returns):
                self.functions.add(f"{module.name}.{node.name}")
            elif isinstance(node, ast.ClassDef):
                self.methods |= {name for name, steps in self.members(node).items() if steps}

    def members(self, node: ast.ClassDef) -> dict[str, bool]:
        """What a class defines itself, and whether it makes steps when called."""
        members: dict[str, bool] = {}
        for each in node.body:
            if isinstance(each, Function):
                members[each.name] = makes_steps(each.returns)
            elif isinstance(each, ast.AnnAssign):
                members[ast.unparse(each.target)] = self.called_for_steps(each.annotation)
        return members

    def called_for_steps(self, annotation: ast.expr | None) -> bool:
        if annotation is None:
            return False
        text = ast.unparse(annotation)
        return text in self.aliases or ("Callable" in text and makes_steps(annotation))

    def names_in(self, module: Module) -> set[str]:
        """The bare names that make steps when they are called in this module."""
        own = {name for name in self.functions if name.rpartition(".")[0] == module.name}
        imported = {dotted for dotted in module.imports if dotted in self.functions}
        arguments = (node for node in module.nodes if isinstance(node, ast.arg))
        handed = {each.arg for each in arguments if self.called_for_steps(each.annotation)}
        return {name.rpartition(".")[2] for name in own | imported} | handed


class Reading:
    """One module, read for steps that are made and not driven."""

    def __init__(self, module: Module, makers: Makers) -> None:
        self._module, self._makers = module, makers
        self._names = makers.names_in(module)

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        nodes = self._module.nodes
        return {child: node for node in nodes for child in ast.iter_child_nodes(node)}

    def forgotten(self) -> Iterator[str]:
        if "Steps" not in self._module.text:
            return
        for node in self._module.nodes:
            if isinstance(node, ast.Call) and self._is_forgotten(node):
                yield f"{self._module.name}:{node.lineno} {ast.unparse(node)}"

    def would_miss(self, delegation: ast.YieldFrom) -> bool:
        """Whether these steps could lose their `yield from` without being noticed."""
        made = delegation.value
        self._parents[made] = self._parents[delegation]
        try:
            return not (isinstance(made, ast.Call) and self._is_forgotten(made))
        finally:
            self._parents[made] = delegation

    def _is_forgotten(self, node: ast.Call) -> bool:
        return self._makes(node) and not self._driven(node)

    def _makes(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name):
            return node.func.id in self._names
        if not isinstance(node.func, ast.Attribute):
            return False
        receiver = ast.unparse(node.func.value)
        if (function := self._function(receiver, node.func.attr)) is not None:
            return function
        if receiver == "self":
            members = self._makers.members(self._enclosing(node, ast.ClassDef))
            if node.func.attr in members:
                return members[node.func.attr]
        return node.func.attr in self._makers.methods and IMMEDIATE.search(receiver) is None

    def _function(self, receiver: str, name: str) -> bool | None:
        """Whether a function of another module makes steps; None when it is no module."""
        homes = [dotted for dotted in self._module.imports if dotted.endswith(f".{receiver}")]
        homes = [dotted for dotted in homes if dotted in self._makers.modules]
        return (
            None
            if not homes
            else any(f"{home}.{name}" in self._makers.functions for home in homes)
        )

    def _driven(self, node: ast.expr) -> bool:
        parent = self._parents[node]
        if isinstance(parent, ast.YieldFrom | ast.Lambda):
            return True
        if isinstance(parent, ast.IfExp) and node is not parent.test:
            return self._driven(parent)
        if isinstance(parent, ast.Return):
            return not is_generator(self._enclosing(node, ast.FunctionDef))
        if isinstance(parent, ast.Assign):
            return self._driven_later(ast.unparse(parent.targets[0]), parent)
        return self._handed_on(node)

    def _handed_on(self, node: ast.expr) -> bool:
        parent = self._parents[node]
        if isinstance(parent, ast.GeneratorExp | ast.Starred) and _made_of(parent) is node:
            return self._handed_on(parent)
        if not isinstance(parent, ast.Call) or node is parent.func:
            return False
        return ast.unparse(parent.func).rpartition(".")[2] in DRIVERS

    def _driven_later(self, name: str, assignment: ast.Assign) -> bool:
        scope = self._enclosing(assignment, ast.FunctionDef, ast.AsyncFunctionDef)
        loads = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
        return bool(loads) and all(self._handed_on(node) for node in loads)

    def _enclosing(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.ClassDef:
        while not isinstance(node, kinds):
            node = self._parents[node]
        return node  # type: ignore[return-value]


def _made_of(several: ast.GeneratorExp | ast.Starred) -> ast.expr:
    """What each of several is made of."""
    return several.elt if isinstance(several, ast.GeneratorExp) else several.value


def is_generator(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
