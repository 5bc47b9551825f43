"""What the pages say is there, and what must never be said is not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from .driven import Function
from .pages import links, pages, prose
from .source import ROOT

#: A promise without its limits is a lie, sooner or later.
NEVER = [
    r"exactly[ -]once",
    r"production[ -](grade|ready)",
    r"guarantees? mutual exclusion(?![^.]*\bup to\b)",
    # Safe against what?  Only this one has an answer.
    r"\bsafe(ly)?\b(?! to repeat)",
]

#: Speed means nothing without the place where it was measured, and only one page names it.
SPEED = r"\b(pairs|ops|locks|operations)/s\b"
MEASURED = "performance.md"

_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [target for target in links(page) if not (page.parent / target).exists()]

    assert broken == []


def test_every_page_of_the_docs_is_reached_from_their_index() -> None:
    index = ROOT / "docs" / "index.md"
    reached = {(index.parent / target).resolve() for target in links(index)}

    assert set((ROOT / "docs").rglob("*.md")) - reached == {index}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
@pytest.mark.parametrize("saying", NEVER)
def test_page_promises_nothing_without_its_limits(page: Path, saying: str) -> None:
    assert re.findall(saying, prose(page), re.IGNORECASE) == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_speed_is_told_only_where_its_machine_is_named(page: Path) -> None:
    if page.name == MEASURED:
        assert re.search(
            r"^## Where these figures come from$.*redis-server", page.read_text(), re.M | re.S
        )
    else:
        assert re.findall(SPEED, prose(page)) == []


@pytest.mark.parametrize(
    "text",
    [
        "It guarantees mutual exclusion.",
        "Jobs run exactly once.",
        "A production-grade Redlock.",
        "This lock is safe.",
        "It makes 40,000 pairs/s.",
    ],
)
def test_a_planted_promise_is_caught(text: str) -> None:
    assert any(re.search(saying, text, re.IGNORECASE) for saying in [*NEVER, SPEED])


def named_tests() -> list[tuple[str, str]]:
    """Every test that a page names as the proof of what it says."""
    return sorted({found for page in pages() for found in _TEST.findall(page.read_text())})


@pytest.mark.parametrize(("path", "name"), named_tests())
def test_the_proof_that_a_page_names_is_there(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text())

    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    assert name in {node.name for node in functions}


def test_pages_name_their_proofs() -> None:
    assert len(named_tests()) >= 20
