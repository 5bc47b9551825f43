"""Forks while it holds a lock; the child goes out of the block in one of several ways."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import interlock


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def refused(action: Callable[[], object]) -> str:
    try:
        return f"got {action()}"
    except interlock.InterlockError as error:
        return type(error).__name__


def leaves(client: interlock.Client, hold: interlock.Hold) -> None:
    """Nothing: the child runs to the end of the block."""


def exits(client: interlock.Client, hold: interlock.Hold) -> None:
    sys.exit(0)


def dies(client: interlock.Client, hold: interlock.Hold) -> None:
    os._exit(0)


def raises(client: interlock.Client, hold: interlock.Hold) -> None:
    raise SystemExit(0) from ZeroDivisionError()


def closes(client: interlock.Client, hold: interlock.Hold) -> None:
    client.close()


def releases(client: interlock.Client, hold: interlock.Hold) -> None:
    say("lost", hold.lost)
    say("hold.release", refused(hold.release))
    say("hold.ensure", refused(hold.ensure))
    say("lock.release", refused(client.lock("claim").release))


def tries(client: interlock.Client, hold: interlock.Hold) -> None:
    say("claim", client.lock("claim").acquire(blocking=False))
    with client.lock("own", timeout=5) as own:
        say("own", not own.lost, own.owner.rpartition(":")[0] != hold.owner.rpartition(":")[0])
        say("kept", refused(own.ensure))


def main(url: str, way: str) -> None:
    client = interlock.connect(url)
    with client.lock("claim", lease=5) as hold:
        child = os.fork()
        if child == 0:
            globals()[way](client, hold)
        else:
            _, status = os.waitpid(child, 0)
            say("child", os.waitstatus_to_exitcode(status), "parent", not hold.lost)
            sys.stdin.readline()
    if child != 0:
        say("left")


if __name__ == "__main__":
    main(*sys.argv[1:])
