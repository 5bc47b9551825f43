"""Holds and waits as its standard input says, and tells what happens."""

from __future__ import annotations

import sys

import interlock
from interlock.events import Event, Parked

told: list[str] = []


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def observe(event: Event) -> None:
    if isinstance(event, Parked) and "parked" not in told:
        told.append("parked")
        say("parked")


def main(url: str) -> None:
    client = interlock.connect(url, observer=observe)
    hold: interlock.Hold | None = None
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "acquire":
            told.clear()
            hold = client.lock(arguments[0], lease=float(arguments[1])).acquire()
            say("held")
        elif command == "lost":
            assert hold is not None
            say(hold.lost)
        elif command == "token":
            assert hold is not None
            say(hold.token)
        elif command == "release":
            assert hold is not None
            say(released(hold))


def released(hold: interlock.Hold) -> str:
    try:
        hold.release()
    except interlock.InterlockError as error:
        return type(error).__name__
    return "released"


if __name__ == "__main__":
    main(sys.argv[1])
