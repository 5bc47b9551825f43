"""`interlock run` in a terminal: keys, job control, pipelines and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import interlock

from ..support.eventually import eventually
from .shell import PROGRAM, Shell, state_of
from .terminals import CTRL_C, CTRL_D, CTRL_Z, PseudoTerminal

RUN = f"{' '.join(PROGRAM)} run"


@pytest.fixture
def bash(shell: Shell) -> Iterator[PseudoTerminal]:
    """An interactive shell with job control."""
    words = ("bash", "--norc", "--noprofile", "--noediting", "-i")
    with PseudoTerminal(*words, env={**shell.environment, "PS1": "ready> "}) as terminal:
        terminal.expect("ready> ")
        terminal.press("stty -echo\n")
        terminal.expect("ready> ")
        yield terminal


def test_the_command_reads_the_terminal_and_has_it(bash: PseudoTerminal) -> None:
    foreground = "import os; print(os.tcgetpgrp(0) == os.getpgrp(), os.get_terminal_size())"
    bash.press(f"{RUN} a -- python3 -c '{foreground}; print(input().upper())'\n")

    bash.expect("True os.terminal_size(columns=100, lines=30)")
    bash.press("word\n")
    bash.expect("WORD")
    bash.expect("ready> ")


def test_ctrl_c_reaches_the_command_once_and_ends_a_loop(bash: PseudoTerminal) -> None:
    script = 'trap "echo INT" INT; echo go; read x; read x; echo over'
    bash.press(f"{RUN} a -- sh -c '{script}'; echo code $?\n")
    bash.expect("go")
    bash.press(CTRL_C)
    bash.expect("INT")
    bash.press("\n\n")
    assert "INT" not in bash.expect("over")
    bash.expect("code 0")

    bash.press(f"for each in 1 2 3; do {RUN} a -- sh -c 'echo round; exec sleep 300'; done\n")
    bash.expect("round")
    bash.press(CTRL_C)
    assert "round" not in bash.expect("ready> ")
    bash.press("echo code $?\n")
    bash.expect("code 130")


def test_ctrl_z_stops_the_command_and_fg_lets_it_go_on(
    bash: PseudoTerminal, client: interlock.Client
) -> None:
    bash.press(f"{RUN} a -- sh -c 'echo go; exec cat'\n")
    bash.expect("go")
    bash.press(CTRL_Z)
    bash.expect("interlock: stopped; lock 'a' ends in ")
    bash.expect("Stopped")
    assert client.lock("a").try_acquire() is None
    bash.press("fg\n")
    bash.press("back\n")
    bash.expect("back\r\n")
    bash.press(CTRL_D)
    bash.expect("ready> ")
    assert client.lock("a", timeout=20).acquire()


def test_a_command_that_was_stopped_for_too_long_is_not_continued(
    bash: PseudoTerminal, client: interlock.Client
) -> None:
    script = 'trap "echo ran $((40 + 2))" TERM CONT; echo go; read x; echo ran $((40 + 2))'
    bash.press(f"{RUN} -l 500ms a -- sh -c '{script}'\n")
    bash.expect("go")
    bash.press(CTRL_Z)
    bash.expect("Stopped")
    with client.lock("a", timeout=20):
        bash.press("fg; echo code $?\n")
        assert "ran 42" not in bash.expect("code 79")


def test_a_command_in_the_background_that_reads_waits_for_fg(bash: PseudoTerminal) -> None:
    bash.press(f"{RUN} a -- sh -c 'read word; echo got $word' & echo pid $!.\n")
    bash.expect("pid ")
    pid = int(bash.expect("."))
    bash.expect("interlock: stopped; ")
    eventually(lambda: state_of(pid) == "T")
    bash.press("fg\n")
    bash.press("it\n")
    bash.expect("got it")


def test_a_pipeline_shares_the_terminal(bash: PseudoTerminal) -> None:
    """The reader at its end has it, and the command gets it when it reads."""
    reader = "sh -c 'read key < /dev/tty; echo key $key; cat'"
    bash.press(f"{RUN} a -- sh -c 'echo from the command; sleep 0.2' | {reader}\n")
    bash.press("k\n")
    bash.expect("key k")
    bash.expect("from the command")
    bash.expect("ready> ")

    bash.press(f"{RUN} a -- sh -c 'read word; echo got $word' | cat\n")
    bash.press("it\n")
    bash.expect("got it")
    bash.expect("ready> ")


def test_ctrl_c_ends_a_script_and_its_command(bash: PseudoTerminal, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text(f"{RUN} a -- sh -c 'echo go; exec sleep 300'\necho never\n")
    bash.press(f"bash {script}\n")
    bash.expect("go")
    bash.press(CTRL_C)
    assert "never" not in bash.expect("ready> ")


def test_ctrl_c_while_waiting_leaves_nothing(
    bash: PseudoTerminal, client: interlock.Client
) -> None:
    with client.lock("a"):
        bash.press(f"{RUN} a -- echo never\n")
        eventually(lambda: (info := client.inspect("a")) and info.waiters == 1, within=20)
        bash.press(CTRL_C)
        assert "never" not in bash.expect("ready> ")
        info = client.inspect("a")
        assert info is not None and info.waiters == 0


def test_a_change_of_the_windows_size_reaches_the_command(shell: Shell) -> None:
    script = "trap 'stty size' WINCH; echo go; while :; do sleep 0.02; done"
    words = [*PROGRAM, "run", "a", "--", "sh", "-c", script]
    with PseudoTerminal(*words, env=shell.environment) as terminal:
        terminal.expect("go")
        terminal.resize(70, 20)
        terminal.expect("20 70")
        terminal.press(CTRL_C)
        assert terminal.ended() == -2  # as its command, so that a shell knows
