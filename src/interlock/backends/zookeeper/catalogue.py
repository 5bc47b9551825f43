"""What is what below the chroot: which directories are in use, and as what."""

from __future__ import annotations

from collections.abc import Sequence

from ...model import Holder
from ...steps import Steps
from . import people
from .folder import ask
from .ground import Ground
from .kinds import in_use_as
from .wire import Children, No


class ZkDirectory:
    """See `stores.Directory`."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        return people.introduce(self._ground, holder, until)

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        (listed,) = yield from ask(name, [Children(self._ground.path_of(name))], until)
        if listed.value is No.MISSING:
            return None
        return (yield from in_use_as(self._ground, name, listed.value, until))

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        raise NotImplementedError
