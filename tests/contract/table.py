"""The table of what is proved where, as `docs/contract.md` shows it.

`python -m tests.contract.table` writes it anew, from the claims themselves.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from interlock.testing.contract import FACES as FACES
from interlock.testing.contract import PRIMITIVES as PRIMITIVES
from interlock.testing.contract import Case
from interlock.testing.contract import cases as cases

from .conftest import STORES as STORES
from .conftest import is_redundant
from .test_redlock import CASES as VOTED_ON

PAGE = Path(__file__).parents[2] / "docs" / "contract.md"

#: The table stands between these lines of the page, and so does that of what is voted on.
BEGIN, END = "<!-- computed: begin -->", "<!-- computed: end -->"
VOTES = "<!-- votes: begin -->", "<!-- votes: end -->"

#: What stands where nothing is proved.
NOTHING = "**none**"


def table(
    chosen: Iterable[Case], stores: Sequence[str], primitives: Iterable[str] = PRIMITIVES
) -> str:
    """How many claims are proved for each primitive, on each store and in each world."""
    # A claim that is proved in two ways, as to write is one use of a lock, counts once.
    places = {(case.primitive, case.backend, case.face.name, case.claim) for case in chosen}
    numbers = Counter(place[:3] for place in places)
    columns = [(store, face.name) for store in stores for face in FACES]
    rows = [
        [f"`{primitive}`", *(str(numbers[primitive, *column] or NOTHING) for column in columns)]
        for primitive in primitives
    ]
    heads = ["", *(f"{store}, {face}" for store, face in columns)]
    rule = ["---", *("--:" for _ in columns)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *rows))


def proved() -> list[Case]:
    """What `make test` proves."""
    return [case for case in cases(STORES) if not is_redundant(case)]


def written(page: str) -> str:
    """A page with the tables as they have to be."""
    offered = dict.fromkeys(case.primitive for case in VOTED_ON)
    page = _between(page, VOTES, table(VOTED_ON, ["redlock"], offered))
    return _between(page, (BEGIN, END), table(proved(), list(STORES)))


def _between(page: str, lines: tuple[str, str], text: str) -> str:
    before, _, rest = page.partition(lines[0])
    _, _, after = rest.partition(lines[1])
    return f"{before}{lines[0]}\n\n{text}\n\n{lines[1]}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
    sys.stdout.write(f"wrote {PAGE}\n")
