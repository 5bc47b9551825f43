"""A canary password, in a program that logs, prints and fails as loudly as it can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.zookeepers import ZooKeeperServer

pytestmark = pytest.mark.server

CANARY = "c4n4ry-b1rd"
PROGRAM = Path(__file__).with_name("talkative.py")


@pytest.fixture(scope="module")
def output() -> str:
    """What the talkative program said, on both channels."""
    with ZooKeeperServer() as server:
        done = subprocess.run(
            [sys.executable, "-X", "dev", str(PROGRAM), CANARY, server.hosts],
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
    return done.stdout + done.stderr


def test_canary_never_sings(output: str) -> None:
    singing = [line for line in output.splitlines() if "c4n4ry" in line]
    # Source lines in tracebacks name the variable; only its value would be a leak.
    assert singing == []


def test_kazoo_told_what_it_sent(output: str) -> None:
    """Without its log the canary would be silent for another reason."""
    assert "Auth(auth_type=0, scheme='digest', auth='…')" in output


@pytest.mark.parametrize(
    "sentence",
    [
        "denies this client the right",
        "password function for",
        "refused our credentials",
        "zk://127.0.0.1:1/ cannot be reached",
        "must look like",
        "needs both a user name and a password",
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
