"""What a command has started is gone before its lock is released."""

from __future__ import annotations

import os
import signal

import interlock
from interlock.cli.process_tree import ProcessEntry, below

from ..support.eventually import eventually
from .shell import PROGRAM, Shell, children_of, ended, hear, is_gone, state_of

#: Two grandchildren: one that ignores SIGTERM, and one in a session of its own.
LEAVES = """
sh -c 'trap "" TERM; echo $$; while :; do sleep 0.05; done' &
setsid sh -c 'echo $$; exec sleep 300' &
sleep 0.2
exit 4
"""


def test_grandchildren_are_gone_before_the_lock_is_released(
    shell: Shell, client: interlock.Client
) -> None:
    process = shell.start("run", "-k", "300ms", "a", "--", "sh", "-c", LEAVES)
    pids = [int(hear(process)), int(hear(process))]

    with client.lock("a", timeout=20):
        left = [pid for pid in pids if not is_gone(pid)]

    assert left == []
    code, said = ended(process)
    assert code == 4
    assert "the command has ended and left" in said


def test_orphans_are_reaped_while_the_command_runs(shell: Shell) -> None:
    # The subshell ends at once, and leaves a child that ends a little later.
    orphan = "(sh -c 'sleep 0.1; echo over' &); sleep 300"
    process = shell.start("run", "a", "--", "sh", "-c", orphan)
    assert hear(process) == "over"

    eventually(lambda: all(state_of(pid) != "Z" for pid in children_of(process.pid)))

    assert len(children_of(process.pid)) == 1
    process.terminate()
    assert ended(process)[0] == 128 + signal.SIGTERM


def test_a_killed_run_takes_its_command_with_it(shell: Shell) -> None:
    process = shell.start("run", "a", "--", "sh", "-c", "echo $$; exec sleep 300")
    pid = int(hear(process))

    process.kill()

    eventually(lambda: is_gone(pid))


def test_children_of_the_shell_that_became_this_process_are_left_alone(shell: Shell) -> None:
    words = " ".join(PROGRAM)
    script = f"sleep 300 & echo $!; exec {words} run a -- sh -c 'sleep 300 & echo $!'"
    process = shell.start(program=["sh", "-c", script])
    stranger, ours = int(hear(process)), int(hear(process))
    try:
        process.wait(20)
        assert is_gone(ours)
        assert not is_gone(stranger)
    finally:
        os.kill(stranger, signal.SIGKILL)
    assert ended(process)[0] == 0


def test_a_waiting_run_has_nothing_but_a_place_for_its_command(
    shell: Shell, client: interlock.Client
) -> None:
    with client.lock("a"):
        process = shell.start("run", "a", "--", "sleep", "300")
        eventually(lambda: len(children_of(process.pid)) == 1, within=20)
        (child,) = children_of(process.pid)
        process.kill()
        eventually(lambda: is_gone(child))


def test_descendants_are_found_without_strangers_and_those_that_have_ended() -> None:
    def entry(pid: int, parent: int, state: str = "S") -> ProcessEntry:
        return ProcessEntry(pid, "program", state, parent, pid)

    every = [
        entry(1, 0),
        entry(10, 1),
        entry(11, 10),
        entry(12, 11, "Z"),
        entry(13, 12),
        entry(20, 10),
        entry(21, 20),
        entry(30, 1),
    ]

    assert [each.pid for each in below(10, every, {20})] == [11, 13]
