"""The program itself: how it starts, and what it says when it cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import interlock
from interlock.cli.main import main

from .shell import PROGRAM

#: What only some commands need, and is slow to import.
HEAVY = ("rich", "asyncio", "sqlite3", "redis", "kazoo", "subprocess", "ctypes", "json")


def test_help_imports_nothing_that_only_a_command_needs() -> None:
    code = (
        "import sys; from interlock.cli.main import main; main(['--help']); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_extra_there_is_one_sentence(missing: str, tmp_path: Path) -> None:
    """Python runs this before anything else: it finds no such module."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        f"util.find_spec = lambda name: None if name == {missing!r} else find(name)\n"
    )
    result = subprocess.run(
        PROGRAM, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}
    )

    assert result.returncode == 69
    assert result.stderr == (
        "interlock: the command line needs click and rich: pip install 'interlock[cli]'\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["--frobnicate", "ls"], "No such option"),
        (["show"], "Missing argument 'NAME'"),
        (["watch", "--every", "1ms"], "--every must be at least 50ms"),
        (["bench", "--seconds", "soon"], 'must look like "10s"'),
    ],
)
def test_a_wrong_line_is_64_in_one_sentence(
    words: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 64
    said = capfd.readouterr().err

    assert said.startswith(f"interlock: {sentence}") or sentence in said
    assert said.endswith("--help'\n")
    assert said.count("\n") == 1


def test_version_and_help_are_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"interlock {interlock.__version__}\n"
    assert main(["--help"]) == 0
    assert "79" in capsys.readouterr().out


def test_no_words_at_all_show_the_help(capfd: pytest.CaptureFixture[str]) -> None:
    main([])
    said = capfd.readouterr()

    assert "Usage: interlock" in said.out + said.err
