"""`python -m bench.failovers [--failovers N] [--locks N] [--lease SECONDS] [--json FILE]
[--fault NAME] [--back SECONDS …]`."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from tests.support.sentinels import SentinelFleet

from .. import machine, programs
from ..foreign import ABSENT
from ..report import Table, progress, say, show
from .faults import FAULTS, Fault
from .judging import Score
from .rounds import COMING_BACK, PYTHON, Contestant, Field, Size, in_java, usual_size

#: How often a failover that went otherwise than it was meant to is repeated.
REPEATS = 3

#: How many fleets may be used up by a fault.
FLEETS = 3

#: Milliseconds of silence after which the Sentinels replace a primary.
DOWN_AFTER = 1000

Scores = dict[str, dict[str, Score]]


def main() -> None:
    """Fail over, judge, and show a row for each fault and contestant."""
    wanted = _parser().parse_args()
    about = machine.describe()
    say(f"{about['machine']}; {about['commit']} (sources {about['sources']}); {about['date']}")
    size = usual_size(wanted.locks, wanted.lease, wanted.back)
    began = time.monotonic()
    with _contestants() as contestants:
        scores = measure(contestants, size, _shared(wanted.failovers, wanted.fault))
    show(tables(scores), [f"{size}; {time.monotonic() - began:.0f} s"])
    if wanted.json is not None:
        figures = {
            fault: {name: score.as_dict() for name, score in each.items()}
            for fault, each in scores.items()
        }
        whole = {**about, "size": size._asdict(), "figures": figures}
        wanted.json.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.failovers", description=__doc__)
    parser.add_argument("--failovers", type=int, default=50, help="over all faults (50)")
    parser.add_argument("--locks", type=int, default=30, help="of each contestant (30)")
    parser.add_argument("--lease", type=float, default=8.0, help="of each lock, in seconds (8)")
    parser.add_argument("--fault", default="", help="only those whose names begin so (all)")
    back = parser.add_argument("--back", type=float, nargs="+", default=COMING_BACK)
    back.metavar, back.help = "SECONDS", "when one that was frozen goes on, in turn"
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    return parser


def _shared(failovers: int, beginning: str) -> dict[Fault, int]:
    """As many of each fault that is named so, the first ones one more."""
    faults = [fault for fault in FAULTS if fault.name.startswith(beginning)]
    each, rest = divmod(failovers, len(faults))
    return {fault: each + (place < rest) for place, fault in enumerate(faults)}


@contextmanager
def _contestants() -> Iterator[Sequence[Contestant]]:
    """Redisson takes part where it is built."""
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        if not programs.has_redisson():
            say(ABSENT.format("Redisson"))
            yield PYTHON
            return
        try:
            programs.compile_redisson_failovers(folder)
        except subprocess.CalledProcessError:
            say("Redisson's program could not be compiled, so it takes no part")
            yield PYTHON
            return
        kinds = {"Redisson RLock": "lock", "Redisson RFencedLock": "fenced"}
        yield [*PYTHON, *(in_java(name, kind, folder) for name, kind in kinds.items())]


def measure(contestants: Sequence[Contestant], size: Size, often: dict[Fault, int]) -> Scores:
    """Each fault on a fleet of its own, with contestants that have just started."""
    scores: Scores = {}
    for fault, times in often.items():
        each = scores[fault.name] = {contestant.name: Score() for contestant in contestants}
        for _ in range(FLEETS):
            if times > (done := _failovers(each)):
                _play(fault, contestants, size, each, range(done, times))
        if _failovers(each) < times:
            say(f"{fault.name}: only {_failovers(each)} of {times} failovers went as they should")
    return scores


def _play(
    fault: Fault,
    contestants: Sequence[Contestant],
    size: Size,
    scores: dict[str, Score],
    numbers: range,
) -> None:
    """So many failovers, or fewer if the fleet does not recover from one."""
    try:
        with (
            SentinelFleet(hurry=fault.hurry, down_after=DOWN_AFTER) as fleet,
            closing(Field(fleet, contestants, size)) as field,
        ):
            for number in numbers:
                progress(f"{fault.name}: {number + 1} of {numbers.stop}")
                _add(scores, _played(field, fault))
    except TimeoutError as failure:
        progress(f"{failure}: on with another fleet")


def _failovers(scores: dict[str, Score]) -> int:
    return max(score.failovers for score in scores.values())


def _played(field: Field, fault: Fault) -> dict[str, Score]:
    for _ in range(REPEATS):
        if (found := field.play(fault)) is not None:
            return found
        progress("the Sentinels have promoted another server than was meant: once more")
    raise TimeoutError("the Sentinels promote another server than they should, again and again")


def _add(scores: dict[str, Score], found: dict[str, Score]) -> None:
    for name, score in found.items():
        scores[name].add(score)


# --- for people ----------------------------------------------------------------------------------

COLUMNS = (
    "",
    "held",
    "lost",
    "stale",
    "told",
    "in s",
    "given up",
    "two believers",
    "fenced",
    "errors",
    "next in s",
)


def tables(scores: Scores) -> list[Table]:
    return [_table(fault, each) for fault, each in scores.items()]


def _table(fault: str, scores: dict[str, Score]) -> Table:
    title = f"the primary is {fault}: failovers: {_failovers(scores)}"
    made = Table(title, COLUMNS)
    for name, score in scores.items():
        made.add(name, *_cells(score))
    return made


def _cells(score: Score) -> Sequence[object]:
    return (
        score.held,
        score.lost,
        score.stale,
        score.told,
        f"{max(score.told_after):.1f}" if score.told_after else "",
        score.given_up,
        score.two_believers,
        score.fenced,
        score.refused,
        f"{median(score.first_grants):.1f}" if score.first_grants else "",
    )


if __name__ == "__main__":
    main()
