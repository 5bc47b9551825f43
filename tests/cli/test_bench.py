"""`interlock bench`: figures that were measured, and nothing left."""

from __future__ import annotations

import json

import pytest

import interlock
from interlock.cli.bench_figures import CLIENTS
from interlock.cli.main import main

from .shell import PROGRAM, Shell
from .terminals import CTRL_C, PseudoTerminal


@pytest.mark.usefixtures("here")
def test_bench_measures_a_free_lock_and_one_that_is_handed_on(
    client: interlock.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--seconds", "200ms", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)

    assert figures["store"].startswith("sqlite:")
    assert (figures["alone"]["clients"], figures["contended"]["clients"]) == (1, CLIENTS)
    for part in ("alone", "contended"):
        assert figures[part]["pairs_per_second"] > 0
        assert 0 < figures[part]["median_ms"] <= figures[part]["p99_ms"]
    assert client.locks() == []


@pytest.mark.usefixtures("here")
def test_people_read_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "100ms", "--url", "memory://"]) == 0

    first, alone, contended = capsys.readouterr().out.splitlines()
    assert first == "memory://, from this machine:"
    assert "one client, a free lock" in alone and "pairs a second" in alone
    assert "4 clients, one lock" in contended


@pytest.mark.usefixtures("here")
def test_a_store_out_of_reach_is_69(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--url", "redis://127.0.0.1:1"]) == 69
    assert capfd.readouterr().err.startswith("interlock: ")


def test_a_terminal_shows_a_bar_and_ctrl_c_ends_it(shell: Shell, client: interlock.Client) -> None:
    words = (*PROGRAM, "bench", "--seconds", "1h")
    with PseudoTerminal(*words, env=shell.environment) as terminal:
        terminal.expect("measuring")
        terminal.press(CTRL_C)
        assert terminal.ended() in (-2, 130)
    assert client.locks() == []
