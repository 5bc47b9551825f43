"""Functions stay small, and so do files."""

from __future__ import annotations

import ast
import io
import statistics
import tokenize
from functools import cache

import pytest

from .source import ROOT, Module, modules

MEDIAN, NINE_OF_TEN, FILE = 6, 25, 260

#: What is left in a text when somebody means to come back.
MARKS = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")

_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


@cache
def code_lines(module: Module) -> frozenset[int]:
    """The lines with code on them: no comments, no docstrings, nothing empty."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _SILENT and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for start, end in docstrings(module):
        lines.difference_update(range(start, end + 1))
    return frozenset(lines)


def docstrings(module: Module) -> list[tuple[int, int]]:
    places = []
    for node in module.nodes:
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            text = body[0].value
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                places.append((text.lineno, text.end_lineno or text.lineno))
    return places


def function_sizes() -> list[int]:
    """How many lines of code each function of the package has."""
    sizes = []
    for module in modules():
        code = code_lines(module)
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                last = node.end_lineno or node.lineno
                sizes.append(sum(node.lineno <= line <= last for line in code))
    return sizes


def test_functions_are_small() -> None:
    sizes = function_sizes()

    assert statistics.median(sizes) <= MEDIAN
    assert statistics.quantiles(sizes, n=10)[-1] <= NINE_OF_TEN


@pytest.mark.parametrize("module", modules(), ids=repr)
def test_file_is_small(module: Module) -> None:
    assert len(code_lines(module)) <= FILE


def test_lines_of_code_are_counted_without_words_about_them() -> None:
    text = 'def f():\n    """Says\n    little."""\n    # why\n\n    return (\n        1\n    )\n'

    assert code_lines(Module("m", text)) == {1, 6, 7, 8}


@pytest.mark.parametrize("folder", ["src", "tests", "bench", "docs", "tools", "interop"])
def test_nobody_means_to_come_back(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".lua", ".md")]
    files = [path for path in files if not {"node_modules", "build", "target"} & {*path.parts}]
    marked = [path for path in files if any(mark in path.read_text() for mark in MARKS)]

    assert marked == []
