"""What a connection that speaks for itself says first: who its client is.  Pure."""

from __future__ import annotations

from ....errors import StoreMisconfigured
from ....passwords import asked
from ..errors import turned_away
from ..url import RedisSettings


def greetings(settings: RedisSettings) -> list[tuple[str, ...]]:
    """The commands of the handshake, each of which has to be confirmed."""
    said: list[tuple[str, ...]] = []
    if settings.password is not None:
        people = (settings.username,) if settings.username else ()
        said.append(("AUTH", *people, asked(settings.password, settings.label)))
    if settings.db:
        said.append(("SELECT", str(settings.db)))
    if settings.client_name:
        said.append(("CLIENT", "SETNAME", settings.client_name))
    return said


def refused(reply: str, label: str) -> StoreMisconfigured:
    """Why a server does not take this client."""
    # The server may quote what it was told: the password.
    words = reply.partition(", with args")[0]
    said = f"refused the connection: {words}"
    if words.startswith(("WRONGPASS", "NOAUTH", "ERR AUTH")):
        said = turned_away(words)
    return StoreMisconfigured(f"{label} {said}", label)
