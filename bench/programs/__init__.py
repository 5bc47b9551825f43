"""Programs in other languages that take and free locks as they are told, one line at a time.

They are compiled anew for each run, against the libraries that `make interop` has fetched.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).parent
INTEROP = HERE.parent.parent / "interop"
JARS = INTEROP / "build" / "java" / "lib"
CURATOR = INTEROP / "build" / "curator" / "lib"
REDSYNC = INTEROP / "build" / "go" / "redsync-peer"

#: Seconds; a JVM on a busy machine takes its time.
PATIENCE = 60.0


class Program:
    """A process that answers every line with one line, most of them with one number."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._mouth, self._ear = self._process.stdin, self._process.stdout
        self.line()  # it is ready

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, *words: object) -> None:
        """Let it do something; the answer is collected later."""
        self._mouth.write(" ".join(map(str, words)) + "\n")
        self._mouth.flush()

    def answer(self) -> int:
        return int(self.line())

    def ask(self, *words: object) -> int:
        self.tell(*words)
        return self.answer()

    def speaks_within(self, seconds: float) -> bool:
        """Whether it says something by then."""
        return bool(select.select([self._ear], [], [], seconds)[0])

    def line(self) -> str:
        """The next line that it says."""
        if not self.speaks_within(PATIENCE):
            raise TimeoutError(f"process {self.pid} has not answered")
        if not (line := self._ear.readline()):
            raise RuntimeError(f"process {self.pid} has ended with {self._process.wait()}")
        return line

    def close(self) -> None:
        """End it, by its pid: it has nothing to lose."""
        self._process.kill()
        self._process.wait()
        self._mouth.close()
        self._ear.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Looping:
    """Pairs that a program does by itself, so that no pipe is timed."""

    def __init__(self, program: Program, word: str, name: str) -> None:
        self.program, self._words, self._begun = program, ("pairs", word, name), False

    def __call__(self, pairs: int) -> None:
        self.begin(pairs)
        self.end()

    def begin(self, pairs: int) -> None:
        self.end()
        self.program.tell(*self._words, pairs)
        self._begun = True

    def end(self) -> None:
        """Wait until it has done what was begun."""
        if self._begun:
            self.program.answer()
        self._begun = False


def has_redisson() -> bool:
    return any(JARS.glob("redisson-*.jar")) and shutil.which("javac") is not None


def has_curator() -> bool:
    return any(CURATOR.glob("curator-recipes-*.jar")) and shutil.which("javac") is not None


def has_redsync() -> bool:
    return REDSYNC.exists() and shutil.which("go") is not None


def versions() -> dict[str, str]:
    """Of the libraries and languages that take part."""
    found = {}
    if has_redisson():
        jar = next(JARS.glob("redisson-*.jar"))
        found = {"java": _word("java", 1, "--version"), "Redisson": jar.stem.partition("-")[2]}
    if has_curator():
        jar = next(CURATOR.glob("curator-recipes-*.jar"))
        found["Curator"] = jar.stem.removeprefix("curator-recipes-")
    if has_redsync():
        needed = (INTEROP / "go" / "go.mod").read_text().split()
        place = needed.index("github.com/go-redsync/redsync/v4")
        found |= {"go": _word("go", 2, "version"), "redsync": needed[place + 1]}
    return found


def _word(program: str, place: int, *args: str) -> str:
    """One word of what a program says of itself."""
    said = subprocess.run([program, *args], capture_output=True, text=True, check=False).stdout
    return said.split()[place] if said else "unknown"


def compile_redisson(folder: str) -> None:
    _compile(folder, "RedissonTurns.java", JARS)


def compile_redisson_failovers(folder: str) -> None:
    _compile(folder, "RedissonFailovers.java", JARS)


def compile_curator(folder: str) -> None:
    _compile(folder, "CuratorTurns.java", CURATOR)


def _compile(folder: str, source: str, jars: Path) -> None:
    subprocess.run(["javac", "-cp", f"{jars}/*", "-d", folder, str(HERE / source)], check=True)


def redisson(folder: str, *urls: str) -> Program:
    """A JVM with Redisson at its defaults, for one server, a cluster, or several that vote."""
    return Program(["java", "-cp", f"{folder}{os.pathsep}{JARS}/*", "RedissonTurns", *urls])


def redisson_failovers(
    folder: str, kind: str, sentinels: str, service: str, lease: float
) -> Program:
    """A JVM with several clients of Redisson, whose leases are of so many seconds."""
    place = f"{folder}{os.pathsep}{JARS}/*"
    words = [kind, sentinels, service, str(int(lease * 1000))]
    quickly = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
    return Program(["java", *quickly, "-cp", place, "RedissonFailovers", *words])


def curator(folder: str, hosts: str) -> Program:
    """A JVM with Curator at its defaults."""
    return Program(["java", "-cp", f"{folder}{os.pathsep}{CURATOR}/*", "CuratorTurns", hosts])


def compile_redsync(folder: str) -> None:
    """Only with what is there: nothing is fetched here."""
    source, made = str(HERE / "redsync_turns.go"), f"{folder}/redsync-turns"
    offline = {**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=readonly"}
    subprocess.run(
        ["go", "build", "-o", made, source], cwd=INTEROP / "go", env=offline, check=True
    )


def redsync(folder: str, *addresses: str) -> Program:
    """A process with redsync at its defaults, for one server, or several that vote; for a cluster
    an address begins with `cluster:`, and several nodes are separated by commas."""
    return Program([f"{folder}/redsync-turns", *addresses])
