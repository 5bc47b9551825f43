"""Names that collide: locks that share keys with another lock, or with another program.

Only what is in use just now can be seen, and only some keys of a large database are looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...errors import StoreMisconfigured
from ...model import RESERVED, Finding
from ...steps import Call, Steps, together
from .directory import STRIDE, Shape, classified, decoded, is_barrier, raised, shapes
from .scripts import script, text

#: Keys of each server that are looked at, at most.
LOOKED_AT = 10_000

#: Keys of ours beside a name; one with a brace is its own hash tag.
_OURS = re.compile(
    rf"{RESERVED}(?:queue|kind|permits|seen|turns|courtesy|done|leader):(?:tagged:(.*)|\{{(.*)\}})",
    re.DOTALL,
)

#: Keys of Redisson's beside a name, which is in braces there or has some itself.
_REDISSONS = re.compile(r"redisson_lock_(?:queue|timeout|token):(.+)|(.+):timeout", re.DOTALL)
_BRACED = re.compile(r"\{([^{}]+)\}")

#: Divides names into what is asked about in one script.
Batches = Callable[[Sequence[str]], list[Sequence[str]]]


def collisions(
    label: str, batches: Batches, until: float, node: Any = None
) -> Steps[list[Finding]]:
    """Look for names that collide on a server, or on one node of several.

    Cost: a round trip for each 500 keys, 20 at most, and one for each 500 that may collide.
    """
    seen: dict[str, Shape] = {}
    try:
        keys = yield from _walked(until, node)
        suspects = sorted(suspicious(keys))
        for start in range(0, len(suspects), STRIDE):
            some = suspects[start : start + STRIDE]
            seen.update((yield from shapes(batches(some), until)))
    except StoreMisconfigured as denied:
        message = f"the names on {label} were not looked at: {denied}"
        advice = "allow the user +scan and %R~* to know more"
        return [Finding("unseen", "info", label, message, advice)]
    return list(judged(label, seen, claimed(keys)))


def _walked(until: float, node: Any) -> Steps[set[str]]:
    """Some keys of a server."""
    met: set[str] = set()
    cursor = "0"
    for _ in range(LOOKED_AT // STRIDE):
        walk = Call(script("names_walk"), (), (cursor, STRIDE), until, node)
        (answer,) = raised((yield from together([walk])))
        met.update(decoded(answer[2:]))
        if (cursor := text(answer[1])) == "0":
            break
    return met


# --- what is suspicious, and what is certain.  Pure ----------------------------------------------


def claimed(keys: set[str]) -> set[str]:
    """Names beside which there is something of ours."""
    return {name for key in keys if (name := _beside_ours(key)) in keys}


def suspicious(keys: set[str]) -> set[str]:
    """Names that are worth a look: few of very many."""
    suspects = claimed(keys)
    for key in keys:
        if _beside_redissons(key):
            suspects.add(key)
        if (tagged := f"{{{key}}}") in keys:
            suspects |= {key, tagged}
    for alike in _alike(keys):
        suspects.update(alike)
    return suspects


def judged(label: str, seen: dict[str, Shape], ours: set[str]) -> Iterator[Finding]:
    """What has come of the suspicion."""
    kinds = {name: kind for name, shape in seen.items() if (kind := classified(shape, True))}
    for name in sorted(ours & seen.keys()):
        if _is_foreign(seen[name]):
            yield _foreign(label, name, seen[name])
    for name in sorted(kinds):
        if (tagged := f"{{{name}}}") in kinds:
            yield _shared(label, name, tagged)
        elif other := _beside_redissons(name):
            yield _inside(label, name, other)
    for alike in _alike(kinds):
        yield _look_alike(label, alike)


def _beside_ours(key: str) -> str:
    """The name that a key of ours belongs to; none of the others."""
    found = _OURS.fullmatch(key)
    return "" if found is None else found.group(1) or found.group(2)


def _beside_redissons(key: str) -> str:
    """The name that a key would belong to by Redisson's rule, if there is one."""
    found = _REDISSONS.fullmatch(key)
    rest = "" if found is None else found.group(1) or found.group(2)
    braced = _BRACED.fullmatch(rest)
    return braced.group(1) if braced is not None else rest if "{" in rest else ""


def _is_foreign(shape: Shape) -> bool:
    """Whether what we keep beside a name is about something else than what is there."""
    if shape.type not in ("hash", "string", "none"):
        return not is_barrier(shape)
    return bool(shape.marker) and shape.type == "hash"


def _alike(names: Iterable[str]) -> Iterator[list[str]]:
    """Names that look the same and are not: a letter with an accent is one character, or two."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if not name.isascii():
            groups.setdefault(unicodedata.normalize("NFC", name), []).append(name)
    return (sorted(group) for group in groups.values() if len(group) > 1)


def _shared(label: str, name: str, tagged: str) -> Finding:
    message = (
        f"{name!r} and {tagged!r} are both in use on {label}, and by Redisson's rule what is kept "
        "beside them (queues, counters, leased permits) are the same keys"
    )
    return _collision("serious", label, message, "rename one of them")


def _inside(label: str, name: str, other: str) -> Finding:
    message = (
        f"{name!r} is in use on {label}, where Redisson's rule keeps what belongs to {other!r}"
    )
    return _collision("warning", label, message, "rename it")


def _foreign(label: str, name: str, shape: Shape) -> Finding:
    use = shape.marker.partition(" ")[0] or "lock"
    message = (
        f"{name!r} is in use as a {use} on {label}, and another program keeps a {shape.type} there"
    )
    return _collision("serious", label, message, "rename one of them")


def _look_alike(label: str, alike: list[str]) -> Finding:
    both = " and ".join(ascii(name) for name in alike)
    message = f"{both} look the same and are different locks on {label}"
    return _collision("warning", label, message, "normalize names, such as by NFC")


def _collision(severity: str, label: str, message: str, advice: str) -> Finding:
    return Finding("names", severity, label, message, advice)
