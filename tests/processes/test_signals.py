"""Signals that end a process: with `release_on_exit` its locks are free at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import interlock
from interlock import UsageError
from tests.support.eventually import eventually
from tests.support.servers import RedisServer

from .people import PROGRAMS, Program

TERM, HUP = signal.SIGTERM, signal.SIGHUP


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store, in a file unless a test asks for another: what is said of signals is the
    same for all of them."""
    if getattr(request, "param", "sqlite") == "redis":
        return str(request.getfixturevalue("redis_url"))
    return f"sqlite:///{tmp_path}/locks.db"


#: Seconds, where the lease would last for thirty.
AT_ONCE = 5.0

CAUSE = "came, on which its client gives everything back (release_on_exit)"


def signalled(url: str, way: str) -> Program:
    """A program that holds a lock."""
    program = Program("signalled", url, way)
    program.expect("held")
    return program


def check_free(onlooker: interlock.Client, *names: str) -> None:
    """Take locks whose leases would last much longer."""
    for name in names or ("claim",):
        onlooker.lock(name).acquire(timeout=AT_ONCE).release()


@pytest.mark.parametrize("url", ["sqlite", "redis"], indirect=True)
@pytest.mark.parametrize(
    ("way", "number"),
    [("in_a_thread", TERM), ("in_a_task", TERM), ("in_another_thread", HUP)],
)
def test_lock_is_free_at_once_and_the_process_ends_by_the_signal(
    url: str, onlooker: interlock.Client, way: str, number: signal.Signals
) -> None:
    with signalled(url, way) as program:
        os.kill(program.pid, number)

        check_free(onlooker)
        assert program.ended() == -number
        assert program.complaint() == ""


@pytest.mark.parametrize("way", ["in_a_thread", "in_a_task"])
def test_lock_on_zookeeper_is_free_at_once(zk_url: str, way: str) -> None:
    with interlock.connect(zk_url) as onlooker, signalled(zk_url, way) as program:
        os.kill(program.pid, TERM)

        check_free(onlooker)
        assert program.ended() == -TERM


def test_without_it_the_lock_stays_for_its_lease(url: str, onlooker: interlock.Client) -> None:
    """What the others would do if nothing was done."""
    with signalled(url, "without") as program:
        os.kill(program.pid, TERM)
        assert program.ended() == -TERM

        info = onlooker.inspect("claim")
        assert info is not None and info.expires_in is not None and info.expires_in > 20


@pytest.mark.parametrize("url", ["sqlite", "redis"], indirect=True)
def test_waiter_gets_it_at_once(url: str, onlooker: interlock.Client) -> None:
    got = threading.Event()

    def wait() -> None:
        with onlooker.lock("claim", timeout=AT_ONCE):
            got.set()

    waiter = threading.Thread(target=wait)
    with signalled(url, "in_a_thread") as program:
        waiter.start()
        eventually(lambda: (info := onlooker.inspect("claim")) and info.waiters)
        os.kill(program.pid, TERM)
        waiter.join(10)

    assert got.is_set()


def test_many_locks_are_released(url: str, onlooker: interlock.Client) -> None:
    with Program("signalled", url, "with_many") as program:
        program.expect("held 300")
        os.kill(program.pid, TERM)

        assert program.ended() == -TERM
        assert onlooker.locks("claim:*") == []


@pytest.mark.parametrize("url", ["redis"], indirect=True)
def test_every_kind_is_released(url: str, onlooker: interlock.Client) -> None:
    with signalled(url, "with_every_kind") as program:
        os.kill(program.pid, TERM)

        assert program.ended() == -TERM
        assert [info.name for info in onlooker.locks() if info.holders] == []


def test_several_clients_and_calls_are_welcome(url: str, onlooker: interlock.Client) -> None:
    with signalled(url, "by_two_clients") as program:
        os.kill(program.pid, TERM)

        check_free(onlooker, "claim", "claim:2")
        assert program.ended() == -TERM


# --- what was installed before ------------------------------------------------------------------


def test_handler_from_before_is_called_when_the_lock_is_free_and_the_program_goes_on(
    url: str,
) -> None:
    with signalled(url, "with_a_handler_that_returns") as program:
        os.kill(program.pid, TERM)

        program.expect("SIGTERM None")
        program.expect(f"SIGTERM {CAUSE}")
        program.expect("held again False")
        assert program.ended() == 0


def test_handler_from_before_may_exit(url: str, onlooker: interlock.Client) -> None:
    with signalled(url, "with_a_handler_that_exits") as program:
        os.kill(program.pid, TERM)

        check_free(onlooker)
        assert program.ended() == 3


def test_signal_that_is_ignored_stays_ignored(url: str, onlooker: interlock.Client) -> None:
    """As with nohup."""
    with signalled(url, "ignoring") as program:
        os.kill(program.pid, HUP)

        assert program.ask("go on") == "still held"
        assert program.ended() == 0


def test_handlers_are_called_in_the_order_of_their_installation(url: str) -> None:
    with signalled(url, "between_handlers") as program:
        os.kill(program.pid, TERM)

        for line in ("last True", "first", "last again True"):
            program.expect(line)
        assert program.ended() == 0


def test_handler_of_an_event_loop_is_called_as_well(url: str) -> None:
    with signalled(url, "beside_a_handler_of_the_loop") as program:
        os.kill(program.pid, TERM)

        program.expect(f"SIGTERM {CAUSE}")
        program.expect("stopped")
        assert program.ended() == 0


# --- where it strikes -------------------------------------------------------------------------


def test_main_thread_that_waits_leaves_the_queue(url: str, onlooker: interlock.Client) -> None:
    with onlooker.lock("claim"), Program("signalled", url, "waiting") as program:
        program.expect("Parked")
        eventually(lambda: (info := onlooker.inspect("claim")) and info.waiters)
        os.kill(program.pid, TERM)

        assert program.ended() == -TERM
        info = onlooker.inspect("claim")
        assert info is not None and info.waiters == 0


@pytest.mark.parametrize("url", ["sqlite", "redis"], indirect=True)
def test_signal_amid_taking_and_releasing_leaves_nothing(
    url: str, onlooker: interlock.Client
) -> None:
    """tests/cancellation/test_exit_handlers.py strikes everywhere."""
    with signalled(url, "busily") as program:
        os.kill(program.pid, TERM)

        assert program.ended() == -TERM
        assert onlooker.lock("claim").acquire(blocking=False) is not None
        assert program.complaint() == ""


def test_threads_that_take_and_release_are_quiet_and_leave_nothing(
    url: str, onlooker: interlock.Client
) -> None:
    with signalled(url, "with_busy_threads") as program:
        os.kill(program.pid, TERM)

        assert program.ended() == -TERM
        assert program.complaint() == ""
        for name in ("claim", "busy:0", "busy:1", "busy:2"):
            assert onlooker.lock(name).acquire(blocking=False) is not None, name


def test_signal_while_the_client_is_closed_lets_it_end(
    url: str, onlooker: interlock.Client
) -> None:
    with signalled(url, "closing") as program:
        program.tell("go on")

        assert program.ended() == -TERM
        assert onlooker.locks("claim:*") == []


def test_child_releases_its_own_and_the_parent_keeps_its_own(
    url: str, onlooker: interlock.Client
) -> None:
    with Program("signalled", url, "forking") as program:
        child = int(program.hear())
        os.kill(child, TERM)

        program.expect(str(-TERM))
        check_free(onlooker, "childs")
        assert onlooker.lock("claim").acquire(blocking=False) is None
        os.kill(program.pid, TERM)
        check_free(onlooker)


def test_silent_store_delays_the_end_by_a_second(own_redis: RedisServer) -> None:
    with signalled(own_redis.url, "in_a_thread") as program:
        own_redis.pause()
        began = time.monotonic()
        os.kill(program.pid, TERM)
        time.sleep(0.1)  # while it waits for the store
        os.kill(program.pid, HUP)

        assert program.ended() == -TERM
        assert 0.5 < time.monotonic() - began < 3
        own_redis.resume()


def test_first_process_of_a_container_ends_as_well(url: str, onlooker: interlock.Client) -> None:
    """The kernel lets no signal end the first process of a namespace by default."""
    command = [sys.executable, str(PROGRAMS / "signalled.py"), url, "in_a_thread"]
    rights = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    unshare = subprocess.Popen(
        ["unshare", *rights, "--pid", "--fork", "--kill-child", *command],
        stdout=subprocess.PIPE,
        text=True,
    )
    with unshare:
        assert unshare.stdout is not None and unshare.stdout.readline() == "held\n"
        children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children").read_text()
        os.kill(int(children), TERM)

        assert unshare.wait(10) == 128 + TERM
    check_free(onlooker)


# --- what is refused ----------------------------------------------------------------------------


def test_only_the_main_thread_may_ask_for_it() -> None:
    refusals: list[str] = []

    def ask() -> None:
        with pytest.raises(UsageError) as refusal:
            client.release_on_exit()
        refusals.append(str(refusal.value))

    with interlock.connect("memory://") as client:
        thread = threading.Thread(target=ask, name="worker")
        thread.start()
        thread.join()

    assert "in the main thread" in refusals[0] and "'worker'" in refusals[0]


@pytest.mark.parametrize("numbers", [[signal.SIGKILL], [TERM, signal.SIGCHLD], [0], [True], []])
def test_signals_are_such_as_end_a_process(numbers: list[int]) -> None:
    before = signal.getsignal(TERM)
    with interlock.connect("memory://") as client, pytest.raises(UsageError, match="signals must"):
        client.release_on_exit(signals=numbers)
    assert signal.getsignal(TERM) == before
