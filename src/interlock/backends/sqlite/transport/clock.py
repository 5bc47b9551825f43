"""The clock by which the file keeps leases, the boot it counts from, and wall time for tokens.

Every process of a machine reads the same CLOCK_BOOTTIME, so an instant of it can be written
down for others, as long as the machine is up.  It starts anew at each boot; that is why the
file also keeps which boot its instants belong to.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from ....errors import StoreMisconfigured

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
OFFSETS = Path("/proc/self/timens_offsets")


def boot_id() -> str:
    """The id of the running boot of this machine."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return _boot_session()


def _boot_session() -> str:
    """The same on macOS."""
    try:
        asked = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        asked = None
    if asked is None or asked.returncode != 0 or not asked.stdout.strip():
        raise StoreMisconfigured(
            "this system does not tell one boot from the next, so a file cannot keep leases; "
            "use a server, such as redis://host, instead"
        )
    return asked.stdout.decode().strip()


def instants() -> Callable[[], int]:
    """A function that reads the machine's clock, in whole milliseconds."""
    # Elsewhere CLOCK_MONOTONIC is the best there is; on macOS it goes on during sleep.
    clock = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
    offset = _offset_ms()

    def instant() -> int:
        return time.clock_gettime_ns(clock) // 1_000_000 - offset

    return instant


def _offset_ms() -> int:
    """How far a time namespace has moved our clock from the machine's."""
    try:
        return offset_in(OFFSETS.read_text())
    except OSError:
        return 0


def offset_in(table: str) -> int:
    """Read the kernel's table of clock offsets."""
    for line in table.splitlines():
        clock, _, rest = line.partition(" ")
        if clock == "boottime":
            seconds, nanoseconds = rest.split()
            return int(seconds) * 1000 + int(nanoseconds) // 1_000_000
    return 0


def wall_us() -> int:
    """The wall clock in microseconds: where tokens start from, never what leases go by."""
    return time.time_ns() // 1000
