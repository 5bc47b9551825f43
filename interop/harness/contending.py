"""Python and Java want the same name of ZooKeeper, and meet outside of the store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .foreign import SOON, Foreign

#: What we call the kinds that Java calls so.
OURS = {"mutex": "lock", "smutex": "mutex", "write": "write", "semaphore": "semaphore"}


def ours(url: str, world: str = "threads") -> Foreign:
    """Interlock on ZooKeeper in a process of its own, to be killed, paused or to work hard."""
    return Foreign([sys.executable, "-m", "interop.python.zookeepers", url, world])


class Contest(NamedTuple):
    """What is wanted, by how many of Java and whom of Python, for how long."""

    of: str
    name: str
    folder: Path
    seconds: float
    most: int = 1
    javas: int = 3
    pythons: Sequence[str] = ("thread", "task", "thread")


class Outcome(NamedTuple):
    """What each contender had, those of Java together, and what went wrong."""

    javas: Sequence[int]
    pythons: Sequence[Sequence[int]]
    violations: Sequence[str]
    #: What failed on our side; and on Java's, which says so instead of trying again.
    errors: Sequence[str]
    complaints: Sequence[str]

    @property
    def tokens(self) -> list[int]:
        return sorted([*self.javas, *(token for each in self.pythons for token in each)])

    def __str__(self) -> str:
        each = " ".join(str(len(tokens)) for tokens in self.pythons)
        return f"{len(self.tokens)} grants: Java {len(self.javas)}, Python {each}"


def contend(contest: Contest, jvm: Foreign, python: Foreign) -> Outcome:
    """Let them want it, and wait until they have told."""
    began = begin(contest, jvm, python)
    return end(contest, *began)


def begin(contest: Contest, jvm: Foreign, python: Foreign) -> tuple[Any, Any]:
    """Let them want it; what they will tell."""
    of, name, folder, seconds, most, javas, pythons = contest
    work = {"folder": str(folder), "run_ms": int(seconds * 1000), "max": most}
    java = {"kind": "peer", "actor": "soak", "of": of, "names": [name], "threads": javas}
    return (
        jvm.start(verb="soak", **java, **work),
        python.start(verb="contend", kind=OURS[of], name=name, contenders=list(pythons), **work),
    )


def end(contest: Contest, java: Any, python: Any) -> Outcome:
    within = contest.seconds + 2 * SOON
    theirs, ours = java.result(within), python.result(within)
    return Outcome(
        theirs["tokens"][contest.name],
        [each["tokens"] for each in ours],
        [*theirs["violations"], *(word for each in ours for word in each["violations"])],
        [word for each in ours for word in each["errors"]],
        theirs["errors"],
    )


def left_inside(contest: Contest) -> list[str]:
    """The markers of those who went in and never came out."""
    return [each.name for each in (contest.folder / "inside-0").iterdir()]


def written(contest: Contest) -> tuple[int, list[int]]:
    """What was counted inside, and the tokens in the order in which they went in."""
    tokens = (contest.folder / "tokens-0").read_text().split()
    return int((contest.folder / "count-0").read_text()), [int(token) for token in tokens]
