"""The project's pages, as the tests read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .source import ROOT

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


class Example(NamedTuple):
    """A block of Python on a page."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Every page of the repository."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def examples() -> Iterator[Example]:
    """Every block of Python on every page."""
    for page in pages():
        text = page.read_text()
        for block in _BLOCK.finditer(text):
            if block[1] == "python":
                line = text.count("\n", 0, block.start()) + 2
                yield Example(str(page.relative_to(ROOT)), line, block[2])


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _BLOCK.sub("", page.read_text())


def links(page: Path) -> Iterator[str]:
    """Where a page leads to inside the repository, without the part behind the #."""
    for target in _LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", target) and not target.startswith("#"):
            yield target.partition("#")[0]
