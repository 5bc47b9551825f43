"""Who was seen to meet whom, in which direction: a table computed from tests that ran.

A test says what it proves with `meets`; a parameter may add the client:

    @meets(client="Redisson", primitive="RLock", ours="lock()", direction=TO_US)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

#: They act first and we must respect it; we act first and they must find it so.
TO_US, TO_THEM = "to us", "to them"
BOTH = (TO_US, TO_THEM)

#: What a client is written in.
LANGUAGES = {
    "Redisson": "Java",
    "redsync": "Go",
    "node-redlock": "Node",
    "redis-py": "Python",
    "Curator": "Java",
    "kazoo": "Python",
}

#: What they meet on where a test does not say it, and in each mode of Redis.
STORES = {**dict.fromkeys(LANGUAGES, "Redis"), "Curator": "ZooKeeper", "kazoo": "ZooKeeper"}
MODES = {"sentinel": "Redis Sentinel", "cluster": "Redis Cluster"}
FIVE = "five Redis servers"
PLACES = ("Redis", *MODES.values(), FIVE, "ZooKeeper")

#: The order in which ours stand in the table.
ORDER = (
    "lock()",
    "fair_lock()",
    "fenced_lock()",
    "rwlock()",
    "semaphore()",
    "leased_semaphore()",
    "latch()",
    "election()",
    "barrier()",
    "multilock()",
    "majority_of()",
    "mutex()",
)

ROOT = Path(__file__).parent.parent.parent
PAGES = (ROOT / "docs" / "interop.md", ROOT / "README.md")
BEGIN, END = "<!-- matrix -->", "<!-- /matrix -->"

_HEAD = """\
| client | on | its primitive | ours | they act first | we act first |
|---|---|---|---|---|---|
"""


def meets(
    client: str | None = None,
    primitive: str | None = None,
    ours: str | None = None,
    direction: str | tuple[str, ...] | None = None,
    place: str | None = None,
) -> pytest.MarkDecorator:
    """Say what a test proves; what is left out is said by its parameters or its module."""
    facts = {"client": client, "primitive": primitive, "ours": ours, "direction": direction}
    facts["place"] = place
    return pytest.mark.meets(**{key: fact for key, fact in facts.items() if fact is not None})


class Row(NamedTuple):
    client: str
    place: str
    primitive: str
    ours: str


@dataclass
class Score:
    """How the tests of one cell came out."""

    passed: int = 0
    failed: int = 0

    def __str__(self) -> str:
        if self.failed:
            return f"FAILED {self.failed} of {self.passed + self.failed}"
        return f"ok ({self.passed})" if self.passed else "not run"


@dataclass
class Matrix:
    """The cells that tests have filled."""

    cells: dict[tuple[Row, str], Score] = field(default_factory=dict)

    def note(self, facts: dict[str, Any], passed: bool) -> None:
        row = Row(facts["client"], facts["place"], facts["primitive"], facts["ours"])
        directions = facts["direction"]
        for direction in [directions] if isinstance(directions, str) else directions:
            score = self.cells.setdefault((row, direction), Score())
            score.passed += passed
            score.failed += not passed

    @property
    def rows(self) -> list[Row]:
        clients = list(LANGUAGES)
        return sorted(
            {row for row, _ in self.cells},
            key=lambda row: (
                clients.index(row.client),
                PLACES.index(row.place),
                ORDER.index(row.ours),
                row.primitive,
            ),
        )

    @property
    def green(self) -> bool:
        """Whether every client was met, each primitive in both directions, in every place, and
        all is well."""
        scores = [self.score(row, direction) for row in self.rows for direction in BOTH]
        met = {row.client for row in self.rows} == set(LANGUAGES)
        met = met and {row.place for row in self.rows} == set(PLACES)
        return met and all(each.passed and not each.failed for each in scores)

    def score(self, row: Row, direction: str) -> Score:
        return self.cells.get((row, direction), Score())

    def lines(self) -> list[str]:
        """For a terminal."""
        return [self._line(row) for row in self.rows]

    def _line(self, row: Row) -> str:
        to_us, to_them = self.score(row, TO_US), self.score(row, TO_THEM)
        meeting = f"{row.client} on {row.place}, {row.primitive} / {row.ours}"
        return f"{meeting}: they act first {to_us}, we act first {to_them}"

    def table(self) -> str:
        """For a page, in Markdown."""
        return _HEAD + "".join(self._table_row(row) for row in self.rows)

    def _table_row(self, row: Row) -> str:
        client = f"{row.client} ({LANGUAGES[row.client]})"
        words = client, row.place, row.primitive, f"`{row.ours}`"
        scores = (str(self.score(row, direction)) for direction in BOTH)
        return "| " + " | ".join([*words, *scores]) + " |\n"


def facts_of(item: pytest.Item) -> dict[str, Any]:
    """What a test proves, from the marks of its module, itself and its parameters."""
    facts: dict[str, Any] = {}
    for mark in item.iter_markers("meets"):  # the closest first
        facts = {**mark.kwargs, **facts}
    if "client" in facts:
        facts.setdefault("place", MODES.get(_mode(item), STORES[facts["client"]]))
    return facts


def _mode(item: pytest.Item) -> str:
    """On which servers a test is run; see `modes.py`."""
    spec = getattr(item, "callspec", None)
    return "" if spec is None else str(spec.params.get("mode", ""))


def write(page: Path, table: str) -> None:
    """Put the table between the two marks of a page."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"{page} has no place for the table"
    page.write_text(f"{before}{BEGIN}\n{table}{END}{after}")


class Scorer:
    """A plugin that fills a matrix while the tests run.

    What a test proves goes with its report, which a worker of xdist sends to where it is counted.
    """

    def __init__(self, pages: Iterable[Path]) -> None:
        self.matrix = Matrix()
        self.figures: list[str] = []
        self._pages = tuple(pages)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report = yield
        report.meets = facts_of(item)
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.meets and (report.when == "call" or report.failed):
            name = report.nodeid.rpartition("::")[2]
            self.matrix.note(report.meets, report.passed)
            self.figures += [f"{name}: {text}" for _, text in report.user_properties]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("who meets whom")
        for line in self.matrix.lines() + self.figures:
            terminalreporter.write_line(line)
        if self._pages and not self.matrix.green:
            terminalreporter.write_line("the table is not written: not all was run, or is well")
            return
        for page in self._pages:
            write(page, self.matrix.table())


def checked(items: Iterable[pytest.Item]) -> None:
    """A test that says half of what it proves would be counted nowhere."""
    for item in items:
        missing = {"client", "primitive", "ours", "direction"} - facts_of(item).keys()
        assert not missing, f"{item.nodeid} does not say its {sorted(missing)}"
