"""`fence.file`: a token beside a file, checked and replaced under a lock."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import IO, Any

import pytest

import interlock
from interlock import AcquireTimeout, StaleToken, StoreMisconfigured, Unsupported, aio, fence
from interlock.parking import Signal

from .conftest import Fencing


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "report.csv"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tokens_pass_in_order_and_an_equal_one_again(fencing: Fencing, report: Path) -> None:
    for token, content in ((5, "first"), (5, b"second"), (7, "third")):
        fencing("file", report, token, content)
        assert report.read_bytes() == (content if isinstance(content, bytes) else content.encode())

    assert (report.parent / "report.csv.fence").read_text() == "7\n"
    assert names(report.parent) == {"report.csv", "report.csv.fence", "report.csv.fence.lock"}


def test_stale_token_is_refused_names_both_and_changes_nothing(
    fencing: Fencing, report: Path
) -> None:
    fencing("file", report, 7, "new")

    with pytest.raises(StaleToken) as refusal:
        fencing("file", report, 6, "old")

    assert (refusal.value.resource, refusal.value.token, refusal.value.newest) == (
        *(str(report), 6),
        7,
    )
    assert report.read_text() == "new"


def test_without_content_the_token_is_only_remembered(fencing: Fencing, report: Path) -> None:
    fencing("file", report, 7)

    with pytest.raises(StaleToken):
        fencing("file", report, 6)
    assert not report.exists()


def test_function_writes_what_is_long(report: Path) -> None:
    def lines(file: IO[bytes]) -> None:
        for number in range(3):
            file.write(b"%d\n" % number)

    fence.file(report, 7, lines)

    assert report.read_text() == "0\n1\n2\n"


def test_file_is_as_it_was_when_its_function_fails(report: Path) -> None:
    fence.file(report, 6, "before")

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fence.file(report, 7, fail)

    assert report.read_text() == "before"
    assert names(report.parent) == {"report.csv", "report.csv.fence", "report.csv.fence.lock"}
    with pytest.raises(StaleToken):  # the token came first
        fence.file(report, 6, "late")
    fence.file(report, 7, "again")


def test_all_names_of_a_file_have_one_guard(report: Path) -> None:
    report.touch()
    other = report.with_name("link.csv")
    other.symlink_to(report)
    fence.file(report, 7, "new")

    with pytest.raises(StaleToken):
        fence.file(other, 6, "old")
    fence.file(other, 8, "newer")

    assert other.is_symlink() and report.read_text() == "newer"


def test_new_file_has_the_mode_of_the_old_one(report: Path) -> None:
    report.touch(mode=0o640)
    report.chmod(0o640)

    fence.file(report, 7, "new")

    assert report.stat().st_mode & 0o777 == 0o640


def test_what_is_no_token_in_the_guard_is_named(report: Path) -> None:
    report.with_name("report.csv.fence").write_text("seven")

    with pytest.raises(StoreMisconfigured, match="another program has written it"):
        fence.file(report, 7, "new")


def test_what_is_no_content_is_named(report: Path) -> None:
    wrong: Any = 7
    with pytest.raises(TypeError, match="content must be bytes, text or a function"):
        fence.file(report, 7, wrong)


# --- several at the same time -----------------------------------------------------------------

WRITER = """
import sys
from interlock import StaleToken, fence

path, log, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
for token in range(first, 90, 3):
    def write(file):
        file.write(b"%d" % token)
        with open(log, "a") as lines:
            lines.write(f"{token}\\n")
    try:
        fence.file(path, token, write)
    except StaleToken:
        pass
"""


def test_writes_of_several_processes_are_in_the_order_of_their_tokens(report: Path) -> None:
    log = report.with_name("log")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(report), str(log), str(first)])
        for first in (1, 2, 3)
    ]

    assert [each.wait(60) for each in writers] == [0, 0, 0]

    tokens = [int(line) for line in log.read_text().split()]
    assert tokens == sorted(tokens)
    assert int(report.read_text()) == tokens[-1] == 89


class Locked:
    """A writer that is paused in the middle of it."""

    def __init__(self, report: Path) -> None:
        lock = report.with_name("report.csv.fence.lock")
        self._descriptor = os.open(lock, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def let_go(self) -> None:
        os.close(self._descriptor)


def test_writer_that_is_paused_in_the_middle_is_waited_for(fencing: Fencing, report: Path) -> None:
    paused = Locked(report)
    writing = fencing.world.start(lambda: fencing.fence.file(report, 7, "new"))

    with pytest.raises(AcquireTimeout, match=r"report\.csv\.fence\.lock"):
        fencing("file", report, 8, "newer", timeout=0.02)
    assert not writing.done()
    paused.let_go()
    writing.result(10)

    assert report.read_text() == "new"


def test_cancelled_writer_waits_no_longer_and_writes_nothing(report: Path) -> None:
    paused = Locked(report)

    async def main() -> None:
        writing = asyncio.create_task(aio.fence.file(report, 7, "new", timeout=None))
        await asyncio.sleep(0.01)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(main())
    paused.let_go()
    assert not report.exists()


def test_cancelled_write_that_has_begun_is_seen_to_its_end(report: Path) -> None:
    async def main() -> None:
        loop, begun, goes_on = asyncio.get_running_loop(), asyncio.Event(), Signal()

        def write(file: IO[bytes]) -> None:
            loop.call_soon_threadsafe(begun.set)
            goes_on.wait(10)
            file.write(b"new")

        writing = asyncio.create_task(aio.fence.file(report, 7, write))
        await begun.wait()
        for _ in range(2):
            writing.cancel()
            await asyncio.sleep(0)
            assert not writing.done()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(main())
    assert report.read_text() == "new"


FORKING = """
import os, sys
from interlock import fence

def write(file):
    if os.fork() == 0:
        os.read(told, 1)  # with all descriptors of its parent
        os._exit(0)
    file.write(b"new")

told, tell = os.pipe()
fence.file(sys.argv[1], 7, write)
fence.file(sys.argv[1], 8, "newer", timeout=5)
os.write(tell, b"x")
assert os.wait()[1] == 0
"""


def test_forked_child_does_not_keep_the_lock(report: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKING, str(report)], check=True, timeout=30)

    assert report.read_text() == "newer"


def test_hold_is_taken_for_its_token(report: Path) -> None:
    with interlock.connect("memory://") as il, il.lock("report") as hold:
        fence.file(report, hold, "new")

    assert int(report.with_name("report.csv.fence").read_text()) == hold.token


def test_system_without_flock_is_told_what_to_use(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)

    with pytest.raises(Unsupported, match=r"use fence\.sql"):
        fence.file(report, 7, "new")


def test_threads_wait_for_each_other(report: Path) -> None:
    within: list[int] = []

    def write(file: IO[bytes]) -> None:
        within.append(1)
        assert len(within) == 1
        report.parent.stat()
        within.pop()

    threads = [Thread(target=fence.file, args=(report, 7, write)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert within == [] and report.exists()
