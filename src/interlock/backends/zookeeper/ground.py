"""What every store of a backend stands on."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...model import RESERVED
from . import names
from .nodes import Nodes


class Vital(Protocol):
    """What is known of the session."""

    session_timeout: float

    def since(self, asked: float) -> float: ...


class Ground(NamedTuple):
    """The chroot, our nodes below it, and the session that they live in."""

    label: str
    root: str
    nodes: Nodes
    vital: Vital

    def path_of(self, name: str) -> str:
        """The directory of a name."""
        return self.root + names.path_of(name)

    @property
    def clients(self) -> str:
        """Where clients say who they are."""
        return f"{self.root}/{RESERVED}clients"

    @property
    def revoked(self) -> str:
        """Where those who were revoked find the reason."""
        return f"{self.root}/{RESERVED}revoked"
