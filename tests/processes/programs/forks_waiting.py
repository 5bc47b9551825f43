"""Forks in a signal handler while it waits for an answer; the child returns into the call."""

from __future__ import annotations

import os
import signal
import sys

import interlock


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def fork(*_: object) -> None:
    if os.fork() == 0:
        signal.alarm(20)  # whatever hangs


def main(url: str) -> None:
    parent, client = os.getpid(), interlock.connect(url)
    with client.lock("before"):
        pass
    signal.signal(signal.SIGALRM, fork)
    say("ready")
    sys.stdin.readline()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with client.lock("k", timeout=10):
            say("held by", "parent" if os.getpid() == parent else "child")
    except interlock.StoreUnavailable as refusal:
        say("child:" if os.getpid() != parent else "parent:", str(refusal).partition(",")[0])
    if os.getpid() != parent:
        os._exit(0)
    say("child", os.waitstatus_to_exitcode(os.wait()[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
