"""The story of docs/fencing.md, as it is told there."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.architecture.pages import examples
from tests.support.pausing import pause

PAGE = "docs/fencing.md"

#: The line that refuses.
CHECK = '        fence.sql(data, "report", hold)\n'


def told() -> list[str]:
    """What the page says that the programs say, in its order."""
    text = (Path(__file__).parents[2] / PAGE).read_text()
    (session,) = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for line in session.splitlines() if not line.startswith("$")]


def program() -> str:
    (found,) = [
        each.text for each in examples() if each.page == PAGE and "# writer.py" in each.text
    ]
    return found


@contextmanager
def writer(folder: Path, work: float = 0) -> Iterator[subprocess.Popen[str]]:
    """Start it."""
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "WORK": str(work)}
    environment.pop("INTERLOCK_URL", None)
    process = subprocess.Popen(
        [sys.executable, "writer.py"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        with process:
            yield process
    finally:
        process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def story(folder: Path, text: str) -> list[str]:
    """What the programs say when the first is paused while it works."""
    (folder / "writer.py").write_text(text)
    with ExitStack() as stack:
        first = stack.enter_context(writer(folder, work=1))
        said = [line_of(first)]
        pause(first.pid)
        second = stack.enter_context(writer(folder))
        said += [line_of(second), line_of(second)]
        os.kill(first.pid, signal.SIGCONT)
        return [*said, line_of(first)]


def numbered(lines: list[str]) -> list[str]:
    """The same, with the first token that occurs as 1, and the next as 2."""
    tokens = sorted({int(each) for each in re.findall(r"token (\d+)", " ".join(lines))})
    spelled = {str(token): str(at) for at, token in enumerate(tokens, 1)}
    return [re.sub(r"\d+", lambda found: spelled.get(found[0], found[0]), line) for line in lines]


def written(folder: Path) -> list[str]:
    database = sqlite3.connect(folder / "report.db")
    try:
        return numbered([line for (line,) in database.execute("SELECT line FROM report")])
    finally:
        database.close()


@pytest.mark.slow  # a lease of a second has to end
def test_paused_holder_is_refused_as_the_page_says(tmp_path: Path) -> None:
    assert numbered(story(tmp_path, program())) == numbered(told())
    assert len(written(tmp_path)) == 1


@pytest.mark.slow  # the same
def test_paused_holder_overwrites_where_nothing_is_checked(tmp_path: Path) -> None:
    assert program().count(CHECK) == 1

    story(tmp_path, program().replace(CHECK, ""))

    assert written(tmp_path) == ["with token 2", "with token 1"]
