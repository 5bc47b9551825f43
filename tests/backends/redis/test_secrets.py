"""A canary password, in a program that logs, prints and fails as loudly as it can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers import RedisServer

pytestmark = pytest.mark.server

CANARY = "c4n4ry-b1rd"
PROGRAM = Path(__file__).with_name("talkative.py")


@pytest.fixture(scope="module")
def output() -> str:
    """What the talkative program said, on both channels."""
    renamed = ("--rename-command", "AUTH", "", "--rename-command", "HELLO", "")
    with RedisServer("--requirepass", CANARY) as guarded, RedisServer(*renamed) as deaf:
        command = [sys.executable, "-X", "dev", str(PROGRAM), CANARY]
        done = subprocess.run(
            [*command, str(guarded.port), str(deaf.port)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
    return done.stdout + done.stderr


def test_canary_never_sings(output: str) -> None:
    singing = [line for line in output.splitlines() if "c4n4ry" in line]
    # Source lines in tracebacks name the variable; only its value would be a leak.
    assert singing == []


@pytest.mark.parametrize(
    "sentence",
    [
        "refused the user name or password",
        "DB index is out of range",
        "unknown command",
        "cannot reach redis://127.0.0.1:1/0",
        "must look like",
        "was lost after",
        "is still held by",
        "the end",
    ],
)
def test_every_failure_was_told(output: str, sentence: str) -> None:
    assert sentence in output


def test_nothing_was_left_open(output: str) -> None:
    assert "ResourceWarning" not in output
    assert "never retrieved" not in output
