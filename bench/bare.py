"""The limits: what a bare Python socket can do that sends packed bytes and reads the reply.

Nothing here is safe to use.  There is no lease to keep, no lost reply, no reconnection:
these are the shortest programs that still exclude each other, to compare with.
"""

from __future__ import annotations

import hashlib
import os
import socket
from types import TracebackType

TAKE_HASH = """
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return redis.call('PTTL', KEYS[1])
end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return nil
"""

FREE_HASH = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
return 1
"""

FREE_STRING = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""

SCRIPTS = (TAKE_HASH, FREE_HASH, FREE_STRING)
LEASE = "30000"


def pack(*words: str) -> bytes:
    """A command as it goes over the wire."""
    parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
    return (f"*{len(words)}\r\n" + "".join(parts)).encode()


def evalsha(text: str, keys: tuple[str, ...], *args: str) -> bytes:
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return pack("EVALSHA", sha, str(len(keys)), *keys, *args)


def take_hash(name: str, owner: str) -> bytes:
    return evalsha(TAKE_HASH, (name,), owner, LEASE)


def free_hash(name: str, owner: str) -> bytes:
    return evalsha(FREE_HASH, (name, f"{name}:freed"), owner, LEASE)


def take_string(name: str, owner: str) -> bytes:
    return pack("SET", name, owner, "NX", "PX", LEASE)


def free_string(name: str, owner: str) -> bytes:
    return evalsha(FREE_STRING, (name,), owner)


def open_socket(port: int, more: tuple[str, ...] = ()) -> socket.socket:
    """A connection to a server that knows the scripts."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for text in (*SCRIPTS, *more):
        sock.sendall(pack("SCRIPT", "LOAD", text))
        sock.recv(4096)
    return sock


class BarePair:
    """One command to take, one to free, each a round trip; a context manager."""

    def __init__(self, port: int, take: bytes, free: bytes) -> None:
        self._socket = open_socket(port)
        self._take, self._free = take, free

    def __enter__(self) -> BarePair:
        self._socket.sendall(self._take)
        self._socket.recv(4096)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.sendall(self._free)
        self._socket.recv(4096)


def raw_hash(port: int, name: str, owner: str = "bare") -> BarePair:
    """The limit for `lock()`: a reentrant hash, freed with a message."""
    return BarePair(port, take_hash(name, owner), free_hash(name, owner))


def raw_string(port: int, name: str, owner: str = "bare") -> BarePair:
    """The limit for `mutex()`: SET NX PX, compare and delete."""
    return BarePair(port, take_string(name, owner), free_string(name, owner))


class Heard:
    """Bare waiting: a subscribed socket, and one attempt for every message."""

    def __init__(self, port: int, name: str, owner: str) -> None:
        self._commands, self._ear = open_socket(port), open_socket(port)
        self._take, self._free = take_hash(name, owner), free_hash(name, owner)
        self._ear.sendall(pack("SUBSCRIBE", f"{name}:freed"))
        self._ear.recv(4096)

    def __enter__(self) -> Heard:
        while not self._attempt():
            self._ear.recv(65536)
        return self

    def _attempt(self) -> bool:
        self._commands.sendall(self._take)
        return self._commands.recv(4096) == b"$-1\r\n"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._commands.sendall(self._free)
        self._commands.recv(4096)


def heard(port: int, name: str) -> Heard:
    """One contender of a process."""
    return Heard(port, name, f"bare-{os.getpid()}")


class ListToken:
    """Bare hand-over: whoever has popped the one item of a list holds it."""

    def __init__(self, port: int, name: str) -> None:
        self._socket = open_socket(port)
        self._take, self._free = pack("BLPOP", name, "0"), pack("LPUSH", name, "1")

    def __enter__(self) -> ListToken:
        self._socket.sendall(self._take)
        self._socket.recv(4096)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.sendall(self._free)
        self._socket.recv(4096)


def lay_token(port: int, name: str) -> None:
    """Begin a list hand-over: exactly one item."""
    with open_socket(port) as sock:
        for command in (pack("DEL", name), pack("LPUSH", name, "1")):
            sock.sendall(command)
            sock.recv(4096)
