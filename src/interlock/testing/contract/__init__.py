"""The contract: what every backend promises, written once and proved in both worlds.

A claim is an `async def test_…(world)` in one of the modules below `claims`; they are found,
not listed.  `cases` multiplies them by the backends, the two faces and the kinds of things to
hold (`subjects`), so that a backend proves itself by a few lines:

    @pytest.mark.parametrize("case", cases(["mine"]), ids=str)
    def test_claim(case: Case) -> None:
        case.prove(lambda: MyBackend("…"))

The backend must be new and empty for each case; every call of the function makes one more
client of the same store.  A backend that offers less than everything names what it offers:
`cases(["mine"], kinds=("lock", "mutex"))`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from ...errors import Unsupported
from ...spi import Backend
from . import claims
from .scope import scope_of
from .subjects import KINDS as KINDS
from .subjects import PRIMITIVES as PRIMITIVES
from .subjects import SUBJECTS as SUBJECTS
from .subjects import primitive_of
from .world import FACES as FACES
from .world import ClientFace as ClientFace
from .world import World as World

Claim: TypeAlias = Callable[[World], Awaitable[None]]

#: No claim takes longer, unless something hangs.
LIMIT = 60.0


@dataclass(frozen=True)
class Case:
    """One claim, to be proved for one kind of thing of one backend in one world."""

    backend: str
    face: ClientFace
    kind: str
    claim: Claim
    #: Whether the backend offers less than everything.
    partial: bool = False

    @property
    def primitive(self) -> str:
        """What the user calls that which is proved."""
        return primitive_of(self.kind)

    def __str__(self) -> str:
        return f"{self.backend}-{self.face.name}-{self.kind}-{self.claim.__name__}"

    def prove(self, backend: Callable[[], Backend], round_trips: int = 1) -> None:
        """Raise AssertionError, or whatever goes wrong, unless the claim holds.

        `round_trips` is what it costs to take what is free, or to count a latch down.  A claim
        that needs more than a partial backend offers is skipped, in the words of its Unsupported.
        """
        try:
            asyncio.run(self._prove(World(backend, self.face, self.kind, round_trips)))
        except Unsupported as missing:
            if not self.partial:
                raise
            pytest.skip(str(missing))

    async def _prove(self, world: World) -> None:
        async with asyncio.timeout(LIMIT), world:
            await self.claim(world)


def cases(backends: Iterable[str], kinds: Iterable[str] | None = None) -> list[Case]:
    """Everything that these backends have to prove, of some kinds or of all `SUBJECTS`."""
    chosen = SUBJECTS if kinds is None else tuple(kinds)
    if unknown := set(chosen) - set(SUBJECTS):
        known = ", ".join(SUBJECTS)
        raise ValueError(f"the contract has no {', '.join(sorted(unknown))}; it has {known}")
    scopes = {claim: scope_of(claim) for claim in every_claim()}
    return [
        Case(backend, face, kind, claim, partial=kinds is not None)
        for backend in backends
        for face in FACES
        for kind in chosen
        for claim, scope in scopes.items()
        if scope.cover(face, kind)
    ]


def every_claim() -> Iterator[Claim]:
    """The claims, as their modules have them."""
    for found in pkgutil.iter_modules(claims.__path__, f"{claims.__name__}."):
        module = importlib.import_module(found.name)
        for name, member in inspect.getmembers(module, inspect.iscoroutinefunction):
            if name.startswith("test_") and member.__module__ == module.__name__:
                yield member
