"""The slots of a Redis Cluster, and how names lie in them.  Pure.

Every key of a name is in the slot of the name, by its hash tag, and so is the fencing counter:
one for each slot that is in use.
"""

from __future__ import annotations

from binascii import crc_hqx
from functools import cache, lru_cache
from itertools import chain, count, islice, product, repeat
from operator import and_

from ....errors import StoreMisconfigured
from ..keys import TOKENS, Keys, Layout, keys_of, latch_channel, own_key, prefixed

SLOTS = 16384

#: What the tags of the counters are made of.  Clients of every version must agree on them.
_LETTERS = b"0123456789abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=4096)
def slot_of(key: str) -> int:
    """The slot of a key: of what stands between its first braces, if there is anything."""
    _, opened, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    hashed = tag if opened and closed and tag else key
    return crc_hqx(hashed.encode("utf-8", "surrogateescape"), 0) & (SLOTS - 1)


@cache
def tags() -> tuple[str, ...]:
    """For each slot the first word that lies there, of those that count up from 0.  Made once."""
    found: dict[int, bytes] = {}
    words = map(bytes, chain.from_iterable(product(_LETTERS, repeat=n) for n in count(1)))
    while len(found) < SLOTS:
        some = list(islice(words, SLOTS))
        slots = list(map(and_, map(crc_hqx, some, repeat(0)), repeat(SLOTS - 1)))
        # The first of those in one slot is written last; and those of before count before.
        found = {**dict(zip(reversed(slots), reversed(some), strict=True)), **found}
    return tuple(map(bytes.decode, map(found.__getitem__, range(SLOTS))))


def counter_of(slot: int) -> str:
    """The last fencing token of a slot."""
    return f"{TOKENS}:{{{tags()[slot]}}}"


def fits(name: str) -> bool:
    """Whether all that belongs to a name lies in the slot of the name."""
    return slot_of(prefixed("", name)) == slot_of(name)


@lru_cache(maxsize=4096)
def cluster_keys_of(name: str) -> Keys:
    """What belongs to a name in a cluster."""
    if not fits(name):
        raise _in_two_slots(name)
    slot = slot_of(name)
    never = own_key("never", name)
    return keys_of(name)._replace(tokens=counter_of(slot), slot=(slot,), never=(never,))


def cluster_latch_keys_of(name: str) -> Keys:
    """The same for a latch, whose channel Redisson tags with the whole name, braces and all."""
    if slot_of(latch_channel(name)) != slot_of(name):
        raise _in_two_slots(name)
    return cluster_keys_of(name)


def _in_two_slots(name: str) -> StoreMisconfigured:
    return StoreMisconfigured(
        f"{name!r} cannot be kept in a Redis Cluster: by Redisson's rule its keys and channels "
        "lie in two slots; choose a name without braces, or, if it is no latch, with one {tag}"
    )


#: One script for each hold: in a cluster few names share a slot, and a script of one key goes on
#: while its slot moves, which one of several keys does not.
IN_SLOTS = Layout(cluster_keys_of, cluster_latch_keys_of, 1)
