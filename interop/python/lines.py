"""The loop of a program that does what it reads and answers by id."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

_mouth = threading.Lock()


def say(reply: dict[str, Any]) -> None:
    """One whole line at a time, whichever thread speaks."""
    with _mouth:
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def obey(perform: Callable[[dict[str, Any]], Any]) -> None:
    """Perform each command in a thread of its own, until there are no more."""
    say({"ready": os.getpid()})
    for line in sys.stdin:
        command = json.loads(line)
        threading.Thread(target=_answer, args=(perform, command), daemon=True).start()


def _answer(perform: Callable[[dict[str, Any]], Any], command: dict[str, Any]) -> None:
    try:
        say({"id": command["id"], "answer": perform(command)})
    except Exception as error:
        kind, message = type(error).__name__, str(error)
        say({"id": command["id"], "error": kind, "message": message})
