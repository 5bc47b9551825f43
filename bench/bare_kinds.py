"""The limits of the other primitives: a bare socket that sends the shortest scripts, packed.

As in `bare.py`, nothing here is safe to use.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

from . import bare_scripts as lua
from . import kinds
from .bare import FREE_HASH, LEASE, evalsha, free_hash, open_socket, pack, take_hash

OWNER, PERMIT, WAIT = "bare", "bare-permit-0001", "300000"


class BareCommands(NamedTuple):
    """What goes over the wire for one turn, packed; each line is a round trip."""

    take: tuple[bytes, ...]
    free: tuple[bytes, ...]
    #: Sent once, before the first turn.
    before: tuple[bytes, ...] = ()


def lock(name: str) -> BareCommands:
    return BareCommands((take_hash(name, OWNER),), (free_hash(name, OWNER),))


def fenced(name: str) -> BareCommands:
    keys = (name, f"redisson_lock_token:{{{name}}}")
    freed = (name, f"redisson_lock__channel:{{{name}}}")
    take = evalsha(lua.TAKE_FENCED, keys, OWNER, LEASE)
    return BareCommands((take,), (evalsha(FREE_HASH, freed, OWNER, LEASE),))


def fair(name: str) -> BareCommands:
    keys = (name, f"redisson_lock_queue:{{{name}}}", f"redisson_lock_timeout:{{{name}}}")
    channels = f"redisson_lock__channel:{{{name}}}:"
    take = evalsha(lua.TAKE_FAIR, keys, OWNER, LEASE, WAIT)
    return BareCommands((take,), (evalsha(lua.FREE_FAIR, keys, OWNER, LEASE, channels),))


def read(name: str) -> BareCommands:
    keys = (name, f"{{{name}}}:{OWNER}:rwlock_timeout:")
    take = evalsha(lua.TAKE_READ, keys, OWNER, LEASE)
    free = evalsha(lua.FREE_READ, (*keys, f"redisson_rwlock:{{{name}}}"), OWNER, f"{{{name}}}:")
    return BareCommands((take,), (free,))


def write(name: str) -> BareCommands:
    take = evalsha(lua.TAKE_WRITE, (name,), OWNER, LEASE)
    free = evalsha(lua.FREE_WRITE, (name, f"redisson_rwlock:{{{name}}}"), OWNER, LEASE)
    return BareCommands((take,), (free,))


def semaphore(name: str) -> BareCommands:
    take = evalsha(lua.TAKE_PERMIT, (name,), "1")
    free = evalsha(lua.FREE_PERMIT, (name, f"redisson_sc:{{{name}}}"), "1")
    return BareCommands((take,), (free,), (pack("SET", name, "4"),))


def leased_semaphore(name: str) -> BareCommands:
    keys = (name, f"{{{name}}}:timeout", f"redisson_sc:{{{name}}}")
    take = evalsha(lua.TAKE_LEASED, keys, PERMIT, LEASE)
    return BareCommands(
        (take,), (evalsha(lua.FREE_LEASED, keys, PERMIT),), (pack("SET", name, "4"),)
    )


def latch(name: str) -> BareCommands:
    """Set to one, counted down, and asked: three round trips."""
    keys = (name, f"redisson_countdownlatch__channel__{{{name}}}")
    down = evalsha(lua.COUNT_LATCH, keys)
    return BareCommands((evalsha(lua.SET_LATCH, keys, "1"),), (down, pack("GET", name)))


def multilock(name: str) -> BareCommands:
    """Three locks, one after another."""
    names = [f"{name}:{i}" for i in range(3)]
    take = tuple(take_hash(each, OWNER) for each in names)
    return BareCommands(take, tuple(free_hash(each, OWNER) for each in reversed(names)))


LINES: dict[str, Callable[[str], BareCommands]] = {
    kinds.LOCK: lock,
    kinds.FAIR: fair,
    kinds.FENCED: fenced,
    kinds.READ: read,
    kinds.WRITE: write,
    kinds.SEMAPHORE: semaphore,
    kinds.LEASED: leased_semaphore,
    kinds.LATCH: latch,
    kinds.MULTI: multilock,
}


class BareTurn:
    """Packed lines over a socket, each a round trip; a context manager."""

    def __init__(self, port: int, lines: BareCommands) -> None:
        self._socket, self._lines = open_socket(port, lua.SCRIPTS), lines
        self._rehearse()

    def _rehearse(self) -> None:
        """One turn, to see that the server understands it: errors are fast, too."""
        for line in (*self._lines.before, *self._lines.take, *self._lines.free):
            self._socket.sendall(line)
            reply = self._socket.recv(4096)
            if reply.startswith(b"-"):
                raise RuntimeError(f"{line!r}: {reply!r}")

    def _send(self, lines: tuple[bytes, ...]) -> None:
        for line in lines:
            self._socket.sendall(line)
            self._socket.recv(4096)

    def __enter__(self) -> BareTurn:
        self._send(self._lines.take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._send(self._lines.free)
