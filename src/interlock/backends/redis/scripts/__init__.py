"""The Lua scripts: one atomic operation a file, with a header that is read, not skipped."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_PARAMETER = re.compile(r"^-- (KEYS|ARGV)\[(\d+|\*)\]  (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """One script: its text, its SHA-1, and how many keys and arguments it takes."""

    name: str
    text: str
    sha: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    #: Takes as many keys and arguments as the caller likes.
    many: bool


@cache
def script(name: str) -> Script:
    """Read a script and its header."""
    text = files(__name__).joinpath(f"{name}.lua").read_text(encoding="utf-8")
    parameters = _PARAMETER.findall(text)
    return Script(
        name,
        text,
        hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
        tuple(word for table, _, word in parameters if table == "KEYS"),
        tuple(word for table, _, word in parameters if table == "ARGV"),
        any(index == "*" for _, index, _ in parameters),
    )
