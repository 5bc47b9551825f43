"""Takes a lock as soon as it is told to; with others it makes a new file."""

from __future__ import annotations

import sys

import interlock


def main(url: str) -> None:
    client = interlock.connect(url)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    with client.lock("k", timeout=8):
        pass
    client.close()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(sys.argv[1])
