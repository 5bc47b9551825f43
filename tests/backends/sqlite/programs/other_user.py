"""Tries a lock as another user, and holds it until it is told to go on.

The arguments: a URL, the path of the file of the machine, and the user and group to be, which
are left as they are without them.  All that is needed is imported before, for another user
may be unable to read it: Python may live in the home of root.
"""

from __future__ import annotations

import os
import sys
import tempfile

import interlock
from interlock.backends.sqlite import url as urls


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def import_everything() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        interlock.connect(f"sqlite://{folder}/first.db") as client,
        client.lock("k"),
    ):
        pass


def become(user: int, *groups: int) -> None:
    os.setgroups(groups)
    os.setgid(user)
    os.setuid(user)


def main(url: str, machine: str, *people: str) -> None:
    urls.MACHINE = machine
    import_everything()
    if people:
        become(*map(int, people))
    os.umask(0o077)
    client = interlock.connect(url)
    say("ready")
    for _ in sys.stdin:
        try:
            say(tried(client))
        except interlock.InterlockError as refusal:
            say(f"{type(refusal).__name__}: {refusal}")


def tried(client: interlock.Client) -> str:
    hold = client.lock("k").acquire(blocking=False)
    if hold is None:
        return "busy"
    say("held")
    sys.stdin.readline()
    hold.release()
    return "released"


if __name__ == "__main__":
    main(*sys.argv[1:])
