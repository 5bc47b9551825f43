"""Forks with a client that is in use, and lets the child outlive the parent's client."""

from __future__ import annotations

import os
import sys
import threading

import interlock


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


if __name__ == "__main__":
    {"outlives": outlives, "busy": busy}[sys.argv[1]](sys.argv[2])
