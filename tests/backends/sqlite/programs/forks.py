"""Forks with a client that is in use, and lets the child outlive the parent's client."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import interlock
from interlock.backends.sqlite.transport import shared_file
from interlock.steps import Call


def say(words: object) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def outlives(url: str) -> None:
    """The child takes a lock; then the parent closes, as the last but the child."""
    client = interlock.connect(url)
    with client.lock("parent"):
        pass
    ready, heard = os.pipe()
    if os.fork() == 0:
        client.lock("child").acquire()
        os.write(heard, b"x")
        sys.stdin.readline()
        client.lock("child").release()
        say("child released")
        os._exit(0)
    os.read(ready, 1)
    client.close()
    say("parent closed")
    os.wait()


def busy(url: str) -> None:
    """Fork while other threads are in the middle of transactions."""
    client = interlock.connect(url)
    done = threading.Event()

    def work(number: int) -> None:
        while not done.is_set():
            with client.lock(f"busy {number}"):
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    codes = [fork_and_take(client, number) for number in range(15)]
    done.set()
    for thread in threads:
        thread.join()
    client.close()
    say(codes)


def fork_and_take(client: interlock.Client, number: int) -> int:
    child = os.fork()
    if child == 0:
        with client.lock(f"child {number}", timeout=5):
            os._exit(0)
    return os.waitpid(child, 0)[1]


def stuck(url: str) -> None:
    """Fork while another thread does not come to the end of its transaction."""
    shared_file.FORK_PATIENCE = 0.1
    client = interlock.connect(url)
    inside, leave = threading.Event(), threading.Event()

    def stay(records: Any) -> None:
        inside.set()
        leave.wait()

    file = shared_file.open_files().enter(url.removeprefix("sqlite://"))
    thread = threading.Thread(target=file.try_apply, args=((Call(stay, (), (), 0.0),),))
    thread.start()
    inside.wait()
    if os.fork() == 0:
        hear_refusal(client)
        if os.fork() == 0:
            hear_refusal(client)
            os._exit(0)
        os.wait()
        os._exit(0)
    os.wait()
    leave.set()
    thread.join()
    with client.lock("parent"):
        say("parent held")


def hear_refusal(client: interlock.Client) -> None:
    try:
        client.lock("child").acquire()
    except interlock.StoreUnavailable as refusal:
        say(refusal)


def left(url: str) -> None:
    """Fork in the middle of a transaction while another thread closes the same file."""
    file = shared_file.open_files().enter(url.removeprefix("sqlite://"))
    closing = threading.Thread(target=shared_file.open_files().leave, args=(file,))

    def fork(records: Any) -> None:
        closing.start()
        while file.users:
            time.sleep(0.001)
        if os.fork() == 0:
            os._exit(0)
        os.wait()

    with suppress(interlock.StoreUnavailable):  # it is not run again: the file has no user now
        file.try_apply((Call(fork, (), (), 0.0),))
    closing.join()
    say("both went on")


if __name__ == "__main__":
    ways = {"outlives": outlives, "busy": busy, "stuck": stuck, "left": left}
    ways[sys.argv[1]](sys.argv[2])
