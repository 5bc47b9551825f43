"""One word for one thing: no class name twice, no retired word, prose that names the actor."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source import ROOT, SRC, Module, imported, modules
from .test_size import docstrings


def words(*groups: str) -> frozenset[str]:
    return frozenset(word for group in groups for word in group.split())


#: Where prose names the actor.
PROSE = (
    "src/interlock",
    "docs",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples",
    "tests/recipes/README.md",
)

# --- the retired words --------------------------------------------------------------------------

#: Names of classes, functions, methods and attributes that have made way for the field's word.
RETIRED = words(
    # the kernel and the API
    "ASKED Asked Body Bundle Doubted Errand Face Lines MARKS Maker Owed Rota Seeking Several",
    "Standing TaskBooks Teller ThreadBooks Turn _bear _disown _give_amid _make_sure _pay ask_back",
    "attend books crowded debts doubted doubtful good_until hurry kindly looks_at mortal",
    "name_both on_asked stand traced trusted way_changed",
    # redis
    "Companions Door Ear EarWakes Line Neighbours Slot Wire _farewells _manners",
    # zookeeper
    "Ask Bell Errands Ground No Parting Pulse Pump Spot Vital beat led survivors",
    # sqlite, memory and the ledger
    "Fact Seat Shelf Sight Worlds _stirred brace drop_fact epitaph glance insist relax set_fact",
    "vacate",
    # the demo
    "Crew Play Stage",
)

#: Names of files, whatever folder they are in.
RETIRED_FILES = words(
    "address belonging blocking books catalogue counting doors ear enduring errands failures",
    "folder ground insist lines looking maker people pulse pump queue replies rota shares shelf",
    "sight standing store telling tombs views weighing wire",
)

# --- names --------------------------------------------------------------------------------------


def classes() -> Counter[str]:
    """How often each class name occurs in the package."""
    return Counter(
        node.name
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    )


def test_no_class_name_occurs_twice() -> None:
    twice = {name for name, times in classes().items() if times > 1}

    assert twice == set()


def defined(module: Module) -> Iterator[str]:
    """The names of classes, functions, attributes and constants that a module defines."""
    for node in module.nodes:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        if isinstance(node, ast.ClassDef | ast.Module):
            yield from _assigned(node.body)


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The names to which the statements of a module or a class assign."""
    for statement in body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


@pytest.mark.parametrize("module", modules(), ids=repr)
def test_no_retired_word_is_a_name(module: Module) -> None:
    names = {*defined(module)} & RETIRED
    names |= {*module.name.split(".")} & RETIRED_FILES

    assert names == set()


@pytest.mark.parametrize(
    "text",
    [
        "class Shelf: ...",
        "def insist(): ...",
        "class File:\n    async def brace(self): ...",
        "class File:\n    epitaph: str",
        "class File:\n    def __init__(self):\n        self.epitaph, self.path = '', ''",
        "Errand: TypeAlias = tuple[int, str]",
    ],
)
def test_a_planted_word_is_caught(text: str) -> None:
    assert {*defined(Module("interlock.planted", text))} & RETIRED


# --- prose --------------------------------------------------------------------------------------

#: Words that hide who acts, and how many lines of prose there are for one with such a word.
ANONYMOUS = re.compile(r"\b(some|no|every|any)body\b|\bwhoever\b", re.IGNORECASE)
LINES = 50


def prose_lines(path: Path) -> Iterator[str]:
    """The lines of docstrings and comments of a module, or all lines of a page."""
    text = path.read_text()
    if path.suffix == ".py":
        yield from _lines_of_module(text)
    else:
        yield from filter(str.strip, text.splitlines())


def _lines_of_module(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for start, end in docstrings(Module("", text)):
        yield from filter(str.strip, lines[start - 1 : end])
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def prose_files(*places: str) -> Iterator[Path]:
    for place in places:
        path = ROOT / place
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (each for each in found if each.suffix in (".py", ".md"))


def test_prose_names_the_actor() -> None:
    lines = [line for path in prose_files(*PROSE) for line in prose_lines(path)]
    anonymous = [line for line in lines if ANONYMOUS.search(line)]

    assert len(anonymous) * LINES <= len(lines), "\n".join(anonymous)


def test_prose_is_found_where_it_is() -> None:
    text = '"""Somebody\nwaits."""\n\nwho = "nobody"  # whoever it is\n'

    found = [*_lines_of_module(text)]

    assert found == ['"""Somebody', 'waits."""', "# whoever it is"]
    assert sum(bool(ANONYMOUS.search(line)) for line in found) == 2


# --- the tests of the backends ------------------------------------------------------------------

BACKENDS = sorted(path.parent.name for path in (SRC / "interlock/backends").glob("*/__init__.py"))


def of_other_backends(module: Module) -> list[str]:
    """What a test of one backend imports from the folder of another."""
    own = module.name.split(".")[2]
    others = tuple(f"tests.backends.{each}." for each in BACKENDS if each != own)
    return [dotted for dotted in imported(module, module.nodes) if f"{dotted}.".startswith(others)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_tests_of_one_backend_need_no_other_folder(backend: str) -> None:
    paths = sorted((ROOT / "tests/backends" / backend).rglob("*.py"))
    found = [each for path in paths for each in of_other_backends(_test_module(path))]

    assert found == []


def _test_module(path: Path) -> Module:
    parts = path.relative_to(ROOT).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    return Module(".".join(parts[:-1] if is_package else parts), path.read_text(), is_package)


@pytest.mark.parametrize("line", ["from ..redis.sides import Server", "from ..redis import sides"])
def test_a_planted_import_from_another_folder_is_caught(line: str) -> None:
    assert of_other_backends(Module("tests.backends.sqlite.test_planted", line))
