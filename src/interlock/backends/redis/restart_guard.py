"""Restart guard: a server that has restarted grants nothing until the longest lease is over.

A server that has lost what it knew may have granted leases that still stand.  With the guard each
attempt asks first whether the server is the one that granted last, in the same script; so it costs
no round trip.  The nodes of Redlock have the same in scripts of their own.
"""

from __future__ import annotations

from functools import cache

from ...errors import UsageError
from ...steps import Call
from ...words import duration
from .scripts import Script, ms, remade, script

#: Which run of the server has granted last, and what is there while it grants nothing.
MARKER, GUARD = "interlock:restart:run", "interlock:restart:guard"


class RestartGuard:
    """What all clients of a server agree on that use it."""

    def __init__(self, longest_lease: float) -> None:
        self._longest, self._longest_ms = longest_lease, ms(longest_lease)

    def guarded(self, request: Call) -> Call:
        """A call as it is sent: an attempt asks the guard first."""
        plain: Script = request.operation
        if not plain.name.endswith("_attempt"):
            return request
        check_lease(request.args[plain.args.index("lease_ms")] / 1000, self._longest)
        keys, args = (*request.keys, MARKER, GUARD), (*request.args, self._longest_ms)
        return request._replace(operation=_behind_guard(plain.name), keys=keys, args=args)


def check_lease(lease: float, longest: float) -> None:
    """Refuse a lease for which the guard would be too short."""
    if lease > longest:
        raise UsageError(
            f"a lease of {duration(lease)} is longer than longest_lease, {duration(longest)}: "
            "raise it in the URL of every client, or take a shorter lease, which is renewed"
        )


@cache
def _behind_guard(name: str) -> Script:
    plain = script(name)
    return remade(plain, script("restart_guard").text + plain.text)
