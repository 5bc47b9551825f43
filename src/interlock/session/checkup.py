"""A client's first look at its store: what makes locks unsafe is logged, once."""

from __future__ import annotations

import logging

from ..drive import now
from ..errors import StoreError
from ..spi import Backend, examination
from ..steps import Steps

log = logging.getLogger("interlock.connect")

#: Seconds that the look may take.  The keeper makes it, and has leases to renew.
MOMENT = 0.5


class Checkup:
    """Made by the keeper when the client has taken its first lock, so that no caller waits."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self._made = backend, False

    def steps(self, until: float) -> Steps[None]:
        """Look, unless that was done; a store that does not answer is looked at later.
        One round trip, or none."""
        if self._made:
            return
        try:
            found = yield from examination(self._backend, min(until, now() + MOMENT), False)
        except StoreError:
            return
        except Exception:
            log.debug("%s could not be examined", self._backend.label, exc_info=True)
            found = ()
        self._made = True
        for finding in found:
            if finding.severity == "serious":
                log.warning("%s", finding)
