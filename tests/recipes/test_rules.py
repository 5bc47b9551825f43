"""The table of rules names tests that exist, and leaves no rule out."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


def test_every_rule_has_a_row() -> None:
    assert re.findall(r"^\| (\d+) ", TABLE, re.MULTILINE) == [str(n) for n in range(1, 13)]


def test_every_test_in_the_table_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", TABLE)

    missing = [
        f"{path}::{test}"
        for path, test in named
        if f"def {test}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]

    assert missing == []
    assert len(named) > 30
