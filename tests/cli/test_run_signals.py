"""Signals: while the lock is waited for they end the wait, afterwards they are the command's."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

import interlock

from ..support.eventually import eventually
from .shell import Shell, children_of, ended, hear, inherited, is_gone

#: Tells each signal that it gets, and ends at TERM.
TELLS = """
for name in INT HUP QUIT USR1 USR2 WINCH; do trap "echo $name" $name; done
trap 'echo TERM; exit 3' TERM
echo ready
while :; do sleep 0.02; done
"""


def await_waiters(client: interlock.Client, number: int) -> None:
    """Until so many wait for the lock."""

    def waiting() -> bool:
        info = client.inspect("a")
        return info is not None and info.waiters == number

    eventually(waiting, within=20)


def test_each_signal_is_passed_on_once(shell: Shell) -> None:
    process = shell.start("run", "a", "--", "sh", "-c", TELLS)
    assert hear(process) == "ready"

    for name in ("INT", "HUP", "QUIT", "USR1", "USR2", "WINCH", "TERM"):
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert hear(process) == name

    assert process.stdout is not None
    assert process.stdout.read() == ""
    assert ended(process)[0] == 3


@pytest.mark.parametrize(
    ("backend", "signals"),
    [("sqlite", "INT TERM HUP QUIT"), ("redis", "INT"), ("zookeeper", "INT")],
)
def test_a_signal_ends_the_wait_at_once_and_nothing_is_left(
    backend: str, signals: str, url_of: Callable[[str], str], shell_of: Callable[[str], Shell]
) -> None:
    url = url_of(backend)
    shell, numbers = shell_of(url), [getattr(signal, f"SIG{name}") for name in signals.split()]
    with interlock.connect(url) as client, client.lock("a"):
        waiters = [shell.start("run", "a", "--", "echo", "never") for _ in numbers]
        await_waiters(client, len(waiters))
        children = [pid for each in waiters for pid in children_of(each.pid)]

        for process, number in zip(waiters, numbers, strict=True):
            struck = time.monotonic()
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
            assert (process.returncode, out, err) == (128 + number, "", "")
            assert time.monotonic() - struck < 5  # a busy machine; the lease is of 30 s

        await_waiters(client, 0)
        assert len(children) == len(waiters)
        assert all(is_gone(pid) for pid in children)


def test_a_signal_that_was_ignored_from_birth_stays_ignored(
    shell: Shell, client: interlock.Client
) -> None:
    with client.lock("a"):
        with inherited(signal.SIGHUP, signal.SIG_IGN):  # as nohup does
            process = shell.start("run", "a", "--", "sh", "-c", "kill -HUP $$; exit 5")
        await_waiters(client, 1)
        process.send_signal(signal.SIGHUP)

    assert ended(process)[0] == 5


def test_a_signal_leaves_a_lock_that_must_be_kept_to_its_lease(
    shell: Shell, client: interlock.Client
) -> None:
    process = shell.start(
        "run", "-l", "2s", "--at-least-for", "1h", "a", "--", "sh", "-c", "echo $$; exit 6"
    )
    pid = int(hear(process))
    eventually(lambda: is_gone(pid), within=20)
    assert process.poll() is None

    process.terminate()

    code, said = ended(process)
    assert code == 6
    assert "left to its lease" in said
    assert client.lock("a").try_acquire() is None
