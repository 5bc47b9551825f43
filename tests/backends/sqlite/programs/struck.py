"""Forks in a signal handler, at each place of an acquire and a release in turn, on one lock file.

Says where something went wrong, and at the end in how many places it was done.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parents[4]))

import interlock
from interlock.backends.sqlite.transport.retry import retry
from interlock.backends.sqlite.transport.shared_file import open_files
from interlock.drive import now
from interlock.steps import Call
from tests.backends.handlers import Handler

SQLITE = "backends/sqlite"


def say(words: object) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


class Child:
    """A process that is forked by a handler, and takes a lock of its own."""

    def __init__(self, client: interlock.Client, path: str) -> None:
        self._client, self._path = client, path
        self.pid, self.complaint = 0, ""
        self._here, self._there = os.pipe(), os.pipe()

    def fork(self) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            self._live()
        self.complaint = os.read(self._here[0], 1000).decode().strip()

    def _live(self) -> NoReturn:
        """Take a lock, and give it back when the parent has closed."""
        inherited = [link for link in links() if link.startswith(self._path)]
        try:
            hold = self._client.lock("child", timeout=3).acquire()
            self._tell(f"it has inherited {inherited}" if inherited else "")
            os.read(self._there[0], 1)
            hold.release()
            os._exit(0)
        except BaseException as error:
            self._tell(repr(error))
            os._exit(1)

    def _tell(self, words: str) -> None:
        os.write(self._here[1], f"{words}\n".encode())

    def end(self) -> None:
        """Let it give its lock back, and hear whether it could."""
        if self.pid:
            os.write(self._there[1], b"x")
            if os.waitpid(self.pid, 0)[1]:
                self.complaint += " and it failed"
        for pipe in (*self._here, *self._there):
            os.close(pipe)


def links() -> list[str]:
    """Which files are open."""
    return [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]


def used(url: str, at: int) -> str | None:
    """A child that uses the client; what is wrong, and None when nothing was struck."""
    client = interlock.connect(url)
    child = Child(client, url.removeprefix("sqlite://"))
    handler = Handler(at, SQLITE, child.fork)
    handler.run(lambda: take_and_release(client))
    client.close()  # as the last one but the child, which deletes SQLite's log
    child.end()
    return told(handler, child.complaint or left_in(url))


def take_and_release(client: interlock.Client) -> None:
    with client.lock("k"):
        pass


def left_in(url: str) -> str:
    with interlock.connect(url) as onlooker:
        left = [info.name for info in onlooker.locks()]
    return f"left: {left}" if left else ""


def told(handler: Handler, wrong: str) -> str | None:
    if handler.where is None:
        return None
    return f"{handler.where}: {wrong}" if wrong else ""


def returned(url: str, at: int) -> str | None:
    """A child that returns from the handler into a call of its parent."""
    path, parent = url.removeprefix("sqlite://"), os.getpid()
    file = open_files().enter(path)
    handler, outcome = Handler(at, SQLITE, os.fork), ""
    try:
        # Insisting, because parent and child may be in each other's way.
        handler.run(lambda: retry(file, Call(count, (), (), 0.0), now() + 5))
    except interlock.StoreUnavailable as failure:
        outcome = str(failure)
    if os.getpid() != parent:
        os._exit(outcome != "" and "belongs to the parent" not in outcome)
    if handler.where is not None and os.wait()[1]:
        outcome += "the child was not told"
    open_files().leave(file)
    return told(handler, outcome or miscounted(path, at))


def believed(url: str, at: int) -> str | None:
    """A child that returns from the handler into an acquire or a release of its parent."""
    parent, client = os.getpid(), interlock.connect(url)
    handler, outcome = Handler(at, "", os.fork), ""
    try:
        handler.run(lambda: hold_alone(client, Path(url.removeprefix("sqlite://") + ".inside")))
    except interlock.InterlockError as failure:
        outcome = repr(failure) if os.getpid() == parent else ""
    except BaseException as failure:
        outcome = repr(failure)
    if os.getpid() != parent:
        sys.stderr.write(f"child, {handler.where}: {outcome}\n" if outcome else "")
        sys.stderr.flush()
        os._exit(outcome != "")
    if handler.where is not None and os.wait()[1]:
        outcome += " in the child"
    client.close()
    return told(handler, outcome or left_in(url))


def made(url: str, at: int) -> str | None:
    """A child that lives on while its parent makes the file, and after it another one."""
    ends = os.pipe()
    handler, outcome = Handler(at, f"{SQLITE}/transport/making", lambda: linger(ends[0])), ""
    with interlock.connect(f"{url}.{at}") as client:
        handler.run(lambda: take_and_release(client))
    try:
        with interlock.connect(f"{url}.{at}.another") as client, client.lock("k", timeout=1):
            pass
    except interlock.InterlockError as failure:
        outcome = repr(failure)
    if handler.where is not None:
        os.write(ends[1], b"x")
        os.wait()
    for end in ends:
        os.close(end)
    return told(handler, outcome)


def linger(end: int) -> None:
    """Fork a child that ends when it is told to."""
    if os.fork() == 0:
        os.read(end, 1)
        os._exit(0)


def hold_alone(client: interlock.Client, inside: Path) -> None:
    """Hold a lock, and fail if another process believes that it holds it as well."""
    with client.lock("k", timeout=5):
        inside.touch(exist_ok=False)
        inside.unlink()


def count(records: Any) -> None:
    """An operation that may not be repeated."""
    records._execute("UPDATE records SET weight = weight + 1 WHERE name = ''")


def miscounted(path: str, at: int) -> str:
    with closing(sqlite3.connect(path)) as connection:
        (number,) = connection.execute("SELECT weight FROM records WHERE name = ''").fetchone()
    return "" if number == at else f"was done {number} times in {at}"


def strike(work: Callable[[str, int], str | None], url: str, places: int) -> None:
    at = 1
    left_in(url)  # which makes the file
    while (wrong := work(url, at)) is not None:
        if wrong:
            say(wrong)
        at += 1
    say(f"struck in {'many' if at > places else at} places")


if __name__ == "__main__":
    # How often each of them must have been struck at least.
    works = {used: 50, returned: 50, believed: 200, made: 8}
    for work, places in works.items():
        if work.__name__ == sys.argv[1]:
            strike(work, sys.argv[2], places)
