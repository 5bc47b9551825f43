"""What becomes of clients, locks and holds that are copied or pickled."""

from __future__ import annotations

from typing import Any, NoReturn, SupportsIndex, TypeVar

T = TypeVar("T")


class Single:
    """What there is one of: neither a copy nor a pickle of it could be right."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # `copy` and `deepcopy` ask for this as well, where they are not told otherwise.
        raise TypeError(self._why_not())

    def _why_not(self) -> str:
        """Why it cannot be copied or pickled, and what to do instead."""
        raise NotImplementedError


class Described(Single):
    """A description and a client: it never changes, so a copy of it is the thing itself.

    A pickle would have to make a client wherever it is read, one for each lock, out of a URL
    with its password; so there is none.
    """

    __slots__ = ()
    name: Any

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: object) -> T:
        return self

    def _why_not(self) -> str:
        return (
            f"{type(self).__name__} {self.name!r} cannot be pickled: it belongs to a client whose "
            f"connections and leases stay in this process; {remake(self)}, and this by its name"
        )


def remake(thing: object) -> str:
    """How to come by another client."""
    kind = type(thing)
    tasks = kind.__module__.endswith("aio") or kind.__name__.startswith("Async")
    world = "interlock.aio" if tasks else "interlock"
    return f"in the other process make a client by {world}.connect(url)"


def one_acquisition(what: str, name: str) -> str:
    """Why what is held is neither copied nor pickled."""
    return (
        f"a {what} of {name!r} cannot be copied or pickled: it stands for one acquisition, which "
        "this process releases once; elsewhere take the lock by its name, or pass the token on"
    )
