"""`python -m bench [question …] [--json FILE] [--rounds N] [--quick]`."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path
from typing import Any

from . import bars, machine
from .method import Effort
from .report import Answer, Figures, progress, say, show

QUESTIONS = (
    "pair",
    "tasks",
    "handoff",
    "crowd",
    "reentrant",
    "sqlite",
    "keeping",
    "importing",
    "primitives",
    "primitives_sqlite",
    "fair",
    "foreign",
    "zookeeper",
    "redlock",
    "redlock_peers",
    "cluster",
    "cluster_peers",
)

CHANGED = "The library's sources changed during this run: its figures do not belong together."


def main() -> None:
    """Ask the questions, show the answers, then the verdict on every bar."""
    wanted = _parser().parse_args()
    effort = Effort(wanted.quick, wanted.rounds)
    about = machine.describe()
    say(f"{about['machine']}; {_words(about['versions'])}; {about['commit']}; {about['date']}")
    figures: Figures = {}
    for name in wanted.questions or QUESTIONS:
        figures.update(_ask(name, effort).figures)
    verdicts = bars.judge(figures)
    steady = machine.fingerprint() == about["sources"]
    show([bars.table(verdicts)], () if steady else (CHANGED,))
    if wanted.json is not None:
        whole = {
            **about,
            "steady": steady,
            "figures": figures,
            "verdicts": [each.as_dict() for each in verdicts],
        }
        wanted.json.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def _ask(name: str, effort: Effort) -> Answer:
    began = time.monotonic()
    answer: Answer = importlib.import_module(f"bench.{name}").ask(effort)
    show(answer.tables, answer.notes)
    progress(f"{name} took {time.monotonic() - began:.1f} s")
    return answer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("questions", nargs="*", metavar="question", help=", ".join(QUESTIONS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each comparison")
    parser.add_argument("--quick", action="store_true", help="a look, in a few minutes")
    return parser


def _words(versions: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


if __name__ == "__main__":
    main()
