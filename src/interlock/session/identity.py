"""Who a client is: towards the store a fresh UUID, towards people a host and a process.

A session has a new one at its birth and after a fork: see `session.BaseSession.after_fork`.
"""

from __future__ import annotations

import os
import sys
import time

from ..model import Holder


def new_identity() -> str:
    """A UUID of version 8 and 74 random bits: Java's are of version 4, so the two never mix.

    Its last six bytes are left to the numbers of permits: see `model.permit_id`.
    """
    bits = bytearray(os.urandom(10) + bytes(6))
    bits[6] = 0x80 | bits[6] & 0x0F
    bits[8] = 0x80 | bits[8] & 0x3F
    text = bits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def introduction(identity: str) -> Holder:
    """Who this process is, for others to read."""
    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    return Holder(identity, _host(), os.getpid(), program, time.time())


def _host() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import socket  # Windows has no uname; elsewhere nothing else here needs a socket

    return socket.gethostname()
