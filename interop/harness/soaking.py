"""Python and Java work hard on the same names, and count outside of the store.

By hand, to see who gets how much of one hot name:

    python -m interop.harness.soaking lock 1x1/1 8x1/1 --seconds 10 --on cluster
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from . import peers
from .foreign import SOON, Foreign
from .modes import MODES

#: What Java calls the kinds of ours; for the rwlock everybody reads and writes in turn.
JAVAS = {
    "lock": "lock",
    "fair_lock": "fair",
    "fenced_lock": "fenced",
    "write": "write",
    "rwlock": "write",
    "semaphore": "semaphore",
    "leased_semaphore": "leased_semaphore",
    "multilock": "multi",
}


class Shape(NamedTuple):
    """How many want how much: so many threads in each of our processes, so many of Java.

    Every second one of our processes has as many tasks in place of threads.
    """

    processes: int
    threads: int
    javas: int
    names: int = 1

    @classmethod
    def read(cls, text: str) -> Shape:
        """From `2x1/2`, or `2x4/8/4` for four names."""
        ours, javas, names = (*text.split("/"), "1")[:3]
        processes, threads = ours.split("x")
        return cls(int(processes), int(threads), int(javas), int(names))

    def __str__(self) -> str:
        names = "one name" if self.names == 1 else f"{self.names} names"
        return f"{self.processes}x{self.threads}/{self.javas} on {names}"


class Outcome(NamedTuple):
    """Who had each name how often, and what was counted meanwhile."""

    javas: Counter[str]
    ours: Counter[str]
    counts: dict[str, int]

    @property
    def total(self) -> Counter[str]:
        return self.javas + self.ours

    @property
    def share(self) -> float:
        """Our part of all grants."""
        return self.ours.total() / max(1, self.total.total())

    def __str__(self) -> str:
        each = " ".join(f"{self.ours[name]}:{self.javas[name]}" for name in sorted(self.counts))
        return f"{self.total.total()} grants, Python {self.share:.0%}; Python:Java {each}"


def soak(
    kind: str, shape: Shape, seconds: float, url: str, jvm: Foreign, folder: Path, prefix: str
) -> Outcome:
    """Let both sides want the same names for a while."""
    names = [f"{prefix}-{place}" for place in range(shape.names)]
    for place in range(shape.names):
        (folder / f"count-{place}").write_text("0")
        if "semaphore" in kind:
            jvm.ask(kind=kind, verb="trySetPermits", name=names[place], permits=1)
    work = {"verb": "soak", "names": names, "folder": str(folder), "run_ms": int(seconds * 1000)}
    work |= {"reads": True if kind == "rwlock" else None}
    ourselves = "write" if kind == "rwlock" else kind
    with ExitStack() as stack:
        sides = [stack.enter_context(peers.ours(url)) for _ in range(shape.processes)]
        java = jvm.start(**work, kind="peer", of=JAVAS[kind], actor="soak", threads=shape.javas)
        ours = [
            side.start(**work, kind=ourselves, threads=shape.threads, tasks=number % 2 == 1)
            for number, side in enumerate(sides)
        ]
        had = [Counter[str](each.result(seconds + SOON)) for each in (java, *ours)]
    counts = [int((folder / f"count-{place}").read_text()) for place in range(shape.names)]
    total = dict(zip(names, counts, strict=True))
    return Outcome(had[0], sum(had[1:], Counter()), total)


def main() -> None:
    """Print who gets how much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted(JAVAS))
    parser.add_argument("shapes", nargs="+", type=Shape.read)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--on", choices=sorted(MODES), default="single")
    args = parser.parse_args()
    with MODES[args.on]() as servers, peers.redisson(servers.url) as jvm:
        for number, shape in enumerate(args.shapes):
            with tempfile.TemporaryDirectory() as folder:
                where = (servers.url, jvm, Path(folder), f"soak{number}")
                outcome = soak(args.kind, shape, args.seconds, *where)
            lost = outcome.total.total() - sum(outcome.counts.values())
            sys.stdout.write(f"{args.kind} {shape}: {outcome}; {lost} lost\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
