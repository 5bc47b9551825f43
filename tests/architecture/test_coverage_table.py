"""The page on the contract shows what is proved, no more and no less."""

from __future__ import annotations

from ..contract.table import (
    BEGIN,
    END,
    FACES,
    NOTHING,
    PAGE,
    PRIMITIVES,
    STORES,
    VOTES,
    cases,
    proved,
    table,
    written,
)


def test_the_table_is_what_the_claims_say() -> None:
    """If this fails: `python -m tests.contract.table` writes it anew."""
    page = PAGE.read_text()

    assert {page.count(line) for line in (BEGIN, END, *VOTES)} == {1}
    assert written(page) == page


def test_every_primitive_has_claims_on_every_store_in_both_worlds() -> None:
    lines = table(proved(), list(STORES)).splitlines()

    assert len(lines) == 2 + len(PRIMITIVES)
    for primitive, line in zip(PRIMITIVES, lines[2:], strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[0] == f"`{primitive}`"
        assert len(cells) == 1 + len(STORES) * len(FACES)
        assert all(int(cell) > 5 for cell in cells[1:])


def test_a_place_without_claims_is_seen() -> None:
    chosen = [case for case in cases(["memory"]) if case.kind != "latch"]

    shown = table(chosen, ["memory", "elsewhere"])

    (latches,) = [line for line in shown.splitlines() if "`latch`" in line]
    assert latches.count(NOTHING) == 4
    assert all(line.count(NOTHING) == 2 for line in shown.splitlines()[2:] if line != latches)
