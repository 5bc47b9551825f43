"""A command never outlives its lock."""

from __future__ import annotations

import os
import signal
import time

import pytest

import interlock
from interlock.cli.main import main

from ..support.eventually import eventually
from ..support.pausing import pause
from ..support.servers import RedisServer
from .shell import Shell, ShellOf, ended, hear, is_gone

#: Hears of SIGTERM, and goes on.
STUBBORN = "trap 'echo TERM' TERM; echo $$; while :; do sleep 0.02; done"


@pytest.mark.usefixtures("here")
def test_a_revoked_lock_stops_the_command_before_its_lease_ends(
    shell: Shell, capfd: pytest.CaptureFixture[str]
) -> None:
    process = shell.start("run", "-l", "4s", "-k", "200ms", "a", "--", "sh", "-c", STUBBORN)
    pid = int(hear(process))

    revoked = time.monotonic()
    assert main(["revoke", "a", "--reason", "it hangs"]) == 0
    assert hear(process) == "TERM"
    eventually(lambda: is_gone(pid), within=20)

    assert time.monotonic() - revoked < 4
    code, said = ended(process)
    assert code == 79
    assert "lock 'a'" in said and "it hangs" in said and "the command is stopped" in said
    assert said.count("interlock: ") == 1


def test_a_silent_store_stops_the_command_before_its_lease_ends(
    own_redis: RedisServer, shell_of: ShellOf
) -> None:
    shell = shell_of(own_redis.url)
    process = shell.start("run", "-l", "4s", "-k", "1s", "a", "--", "sh", "-c", STUBBORN)
    pid = int(hear(process))

    paused = time.monotonic()  # the last renewal was before
    own_redis.pause()
    assert hear(process) == "TERM"
    termed = time.monotonic()
    eventually(lambda: is_gone(pid), within=20)

    assert time.monotonic() - paused < 4
    assert time.monotonic() - termed > 0.5  # it had its grace
    code, said = ended(process)
    assert code == 79
    assert "the store does not answer" in said


def test_a_command_is_stopped_in_time_for_the_ceiling(
    shell: Shell, client: interlock.Client
) -> None:
    process = shell.start("run", "--max-hold", "1s", "a", "--", "sh", "-c", STUBBORN)
    pid = int(hear(process))

    with client.lock("a", timeout=20):
        assert is_gone(pid)

    code, said = ended(process)
    assert code == 79
    assert "the lease of lock 'a' ends in" in said and "it is not renewed" in said


def test_a_loss_can_be_ignored(shell: Shell, client: interlock.Client) -> None:
    process = shell.start(
        "run",
        "-l",
        "300ms",
        "--on-lost",
        "ignore",
        "a",
        "--",
        "sh",
        "-c",
        "echo $$; read x; exit 5",
        stdin=-1,
    )
    hear(process)
    client.revoke("a")
    assert process.stderr is not None
    assert "the command goes on" in process.stderr.readline()

    process.communicate("go\n")

    assert process.returncode == 5


def test_a_run_that_slept_too_long_kills_its_command_at_once(shell: Shell) -> None:
    process = shell.start("run", "-l", "1s", "-k", "500ms", "a", "--", "sh", "-c", STUBBORN)
    pid = int(hear(process))

    pause(process.pid)
    time.sleep(1.1)  # its lease ends
    assert not is_gone(pid)
    os.kill(process.pid, signal.SIGCONT)

    out, said = process.communicate(timeout=20)
    assert (process.returncode, out) == (79, "")
    assert "was lost" in said
    assert is_gone(pid)


def test_a_loss_that_is_found_when_the_command_has_ended_is_told(
    shell: Shell, client: interlock.Client
) -> None:
    process = shell.start("run", "a", "--", "sh", "-c", "echo $$; read x", stdin=-1)
    hear(process)
    client.revoke("a", "by mistake")

    _, said = process.communicate("go\n")

    assert process.returncode == 79
    assert "by mistake" in said
