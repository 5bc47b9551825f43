"""What is proved: the primitives, and every way to get something that one alone can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

#: Makes something of a client, under a name and on terms.
Make: TypeAlias = Callable[..., Any]


def _method(method: str, **usually: Any) -> Make:
    """By a method of the client; `usually` is what its user would say beside the name."""
    return lambda client, name, **terms: getattr(client, method)(name, **{**usually, **terms})


def _writing(client: Any, name: str, **terms: Any) -> Any:
    return client.rwlock(name, **terms).write()


#: What one owner at a time can hold, and how it is made.  What is claimed of a lock is claimed
#: of each of them.
KINDS: dict[str, Make] = {
    "lock": _method("lock"),
    "mutex": _method("mutex"),
    "fair_lock": _method("fair_lock"),
    "fenced_lock": _method("fenced_lock"),
    "rwlock.write": _writing,
    "semaphore": _method("semaphore", permits=1),
    "leased_semaphore": _method("leased_semaphore", permits=1),
}

#: Where the kind makes no difference, because the client alone decides: one stands for all.
PLAIN = ("lock",)

#: A thread or task that holds these may take them again.
REENTRANT = ("lock", "fair_lock", "fenced_lock", "rwlock.write")

#: Of these there may be several, so that each permit is asked for at the store.
PERMITS = ("semaphore", "leased_semaphore")

#: While one of a client holds these, its siblings wait in the local queue.
WHOLE = tuple(kind for kind in KINDS if kind not in PERMITS)

#: More than one lock, taken as one.
MULTILOCKS = ("multilock", "majority_of")

#: Whatever a claim can be about.
SUBJECTS = (*KINDS, "rwlock", "latch", "election", "barrier", *MULTILOCKS)


def primitive_of(subject: str) -> str:
    """To write is one use of a read/write lock, and so on."""
    return subject.partition(".")[0]


#: The rows of the table of what is proved.
PRIMITIVES = tuple(dict.fromkeys(primitive_of(subject) for subject in SUBJECTS))
