"""Sockets that never block: where they lead, and how TLS begins on them."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from functools import cache
from typing import Any

from ..url import RedisSettings

#: What a socket raises that has nothing to read now, or takes nothing.
WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

_UNDER_WAY = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR}


def addresses_of(settings: RedisSettings) -> list[Any]:
    """The addresses of a server, as `socket.getaddrinfo` tells them."""
    if settings.transport == "unix":
        return [(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", settings.path)]
    place = (settings.host, settings.port)
    return socket.getaddrinfo(*place, type=socket.SOCK_STREAM)


def is_numeric(settings: RedisSettings) -> bool:
    """Whether its address is known without a look at any name."""
    if settings.transport == "unix":
        return True
    try:
        socket.getaddrinfo(settings.host, settings.port, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return True


def begin_to_connect(addresses: list[Any]) -> tuple[socket.socket, int | None]:
    """Begin to connect to the next address, and answer what came of it: see `connected`."""
    family, kind, protocol, _, address = addresses.pop(0)
    sock = socket.socket(family, kind, protocol)
    sock.setblocking(False)
    if kind == socket.SOCK_STREAM and family != getattr(socket, "AF_UNIX", None):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    code = sock.connect_ex(address)
    return sock, None if code in _UNDER_WAY else code


def connected(sock: socket.socket) -> int | None:
    """0 when a socket has connected, the error when that failed; None while it has not."""
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return None if code in _UNDER_WAY else code


def connecting_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def with_tls(sock: socket.socket, settings: RedisSettings) -> ssl.SSLSocket:
    """The same with TLS, whose handshake is still to be done."""
    context = _context(
        settings.ca_certs, settings.certfile, settings.keyfile, not settings.insecure_tls
    )
    return context.wrap_socket(sock, server_hostname=settings.host, do_handshake_on_connect=False)


@cache
def _context(
    ca_certs: str | None, certfile: str | None, keyfile: str | None, verified: bool
) -> ssl.SSLContext:
    """Verified unless the program says otherwise; a URL cannot."""
    context = ssl.create_default_context(cafile=ca_certs)
    context.check_hostname = verified
    context.verify_mode = ssl.CERT_REQUIRED if verified else ssl.CERT_NONE
    if certfile:
        context.load_cert_chain(certfile, keyfile)
    return context
