"""Forks again and again while other threads are in the middle of everything."""

from __future__ import annotations

import os
import sys
import threading

import interlock

CHILDREN = 25


def use(client: interlock.Client, name: str, stop: threading.Event) -> None:
    """Take and release; the short lease keeps the keeper busy as well."""
    while not stop.is_set():
        with client.lock(name, lease=0.1):
            stop.wait(0.001)


def child(client: interlock.Client) -> None:
    """Use the inherited client as if nothing had happened."""
    for name in ("shared", "own"):
        with client.lock(name, timeout=10) as hold:
            hold.ensure()


def main(url: str) -> None:
    client, stop = interlock.connect(url), threading.Event()
    names = ("shared", "shared", "other", "third")
    threads = [threading.Thread(target=use, args=(client, name, stop)) for name in names]
    for thread in threads:
        thread.start()
    codes = [forked(client) for _ in range(CHILDREN)]
    stop.set()
    for thread in threads:
        thread.join()
    sys.stdout.write(f"{codes.count(0)}\n")


def forked(client: interlock.Client) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child(client)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main(sys.argv[1])
