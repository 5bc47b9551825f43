"""Holds locks, in one of several ways, until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from typing import Any

import interlock
from interlock import aio

URL, A_DAY = sys.argv[1], 86_400


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def wait_for_the_end() -> None:
    while True:
        signal.pause()


def told() -> None:
    sys.stdin.readline()


def in_a_thread() -> None:
    client = interlock.connect(URL)
    client.release_on_exit()
    with client.lock("claim"):
        say("held")
        wait_for_the_end()


def in_a_task() -> None:
    async def main() -> None:
        client = aio.connect(URL)
        client.release_on_exit()
        async with client.lock("claim"):
            say("held")
            await asyncio.sleep(A_DAY)

    asyncio.run(main())


def in_another_thread() -> None:
    client = interlock.connect(URL)
    client.release_on_exit()

    def hold() -> None:
        with client.lock("claim"):
            say("held")
            time.sleep(A_DAY)

    worker = threading.Thread(target=hold)
    worker.start()
    worker.join()


def without() -> None:
    client = interlock.connect(URL)
    with client.lock("claim"):
        say("held")
        wait_for_the_end()


def with_many() -> None:
    client = interlock.connect(URL)
    client.release_on_exit()
    holds = [client.lock(f"claim:{number}").acquire() for number in range(300)]
    say("held", len(holds))
    wait_for_the_end()


def with_every_kind() -> None:
    client = interlock.connect(URL)
    client.release_on_exit()
    with (
        client.mutex("mutex"),
        client.fair_lock("fair"),
        client.rwlock("rw").read(),
        client.semaphore("permits", permits=1),
        client.multilock("claim", "claim:2"),
    ):
        say("held")
        wait_for_the_end()


def by_two_clients() -> None:
    first, second = interlock.connect(URL), interlock.connect(URL)
    for client in (first, second, first):
        client.release_on_exit()
        client.release_on_exit(signals=[signal.SIGTERM])
    assert first.lock("claim").acquire() and second.lock("claim:2").acquire()
    say("held")
    wait_for_the_end()


def with_a_handler_that_returns() -> None:
    """The program goes on, and its client does."""
    onlooker, came = interlock.connect(URL), list[str]()

    def theirs(number: int, frame: Any) -> None:
        came.append(f"{signal.Signals(number).name} {onlooker.inspect('claim')}")

    signal.signal(signal.SIGTERM, theirs)
    client = interlock.connect(URL)
    client.release_on_exit()
    lost = threading.Event()
    hold = client.lock("claim").acquire()
    hold.on_lost(lambda _: lost.set())
    say("held")
    while not came:
        signal.pause()
    say(*came)
    assert lost.wait(10) and hold.lost
    try:
        hold.release()
    except interlock.LockLost as loss:
        say(loss.cause)
    with client.lock("claim") as again:
        say("held again", again.lost)


def with_a_handler_that_exits() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    client = interlock.connect(URL)
    client.release_on_exit()
    with client.lock("claim"):
        say("held")
        wait_for_the_end()


def ignoring() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    client = interlock.connect(URL)
    client.release_on_exit()
    with client.lock("claim") as hold:
        say("held")
        told()
        say("lost" if hold.lost else "still held")


def between_handlers() -> None:
    """Others install handlers before and after; each calls the one before it."""
    signal.signal(signal.SIGTERM, lambda *_: say("first"))
    client = interlock.connect(URL)
    client.release_on_exit()
    ours: Any = signal.getsignal(signal.SIGTERM)

    def last(number: int, frame: Any) -> None:
        say("last", hold.lost)
        ours(number, frame)
        say("last again", hold.lost)
        sys.exit(0)

    signal.signal(signal.SIGTERM, last)
    client.release_on_exit()  # once more, on top of it
    hold = client.lock("claim").acquire()
    say("held")
    wait_for_the_end()


def waiting() -> None:
    """The main thread waits for a lock."""
    client = interlock.connect(URL, observer=lambda event: say(type(event).__name__))
    client.release_on_exit()
    client.lock("claim").acquire()


def forking() -> None:
    client = interlock.connect(URL)
    client.release_on_exit()
    with client.lock("claim"):
        child = os.fork()
        if child == 0:
            client.lock("childs").acquire()
            say(os.getpid())
            wait_for_the_end()
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        wait_for_the_end()


def with_busy_threads() -> None:
    """Threads that take and release: they are quiet when the process ends."""
    client = interlock.connect(URL)
    client.release_on_exit()

    def use(number: int) -> None:
        while True:
            with client.lock(f"busy:{number}"), client.lock("claim"):
                pass

    for number in range(3):
        threading.Thread(target=use, args=(number,)).start()
    time.sleep(0.1)
    say("held")
    wait_for_the_end()


def busily() -> None:
    """The main thread takes and releases, so that the signal strikes anywhere."""
    client = interlock.connect(URL)
    client.release_on_exit()
    say("held")
    while True:
        with client.lock("claim"):
            pass


def closing() -> None:
    """The signal strikes while the client is closed, which takes a while."""
    client = interlock.connect(URL)
    client.release_on_exit()
    for number in range(300):
        client.lock(f"claim:{number}").acquire()
    say("held")
    told()
    threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGTERM)).start()
    client.close()
    wait_for_the_end()


def beside_a_handler_of_the_loop() -> None:
    async def main() -> None:
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        client = aio.connect(URL)
        client.release_on_exit()
        try:
            async with client.lock("claim"):
                say("held")
                await asyncio.sleep(A_DAY)
        except interlock.LockLost as loss:
            say(loss.cause)
        await stopped.wait()
        async with client.lock("claim"):
            say("stopped")

    asyncio.run(main())


if __name__ == "__main__":
    globals()[sys.argv[2]]()
