"""What becomes of a downgrade whose question or answer is lost."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreError
from tests.support.faults import FaultProxy

from ...support.worlds import World
from .watching import sha

pytestmark = pytest.mark.server


@pytest.mark.parametrize("what", ["request", "reply"])
def test_downgrade_is_said_until_it_is_heard(
    world: World, redis_url: str, proxy: FaultProxy, peek: Any, what: str
) -> None:
    cache = world.connect(f"redis://127.0.0.1:{proxy.port}").rwlock("k")
    hold = world.do(cache.write().acquire)
    getattr(proxy, f"lose_{what}")(sha("rwlock_downgrade"))

    world.do(hold.downgrade)

    assert proxy.fired == 1
    assert (hold.mode, peek.hget("k", "mode")) == ("read", "read")
    other = world.connect(redis_url).rwlock("k").read()
    world.do(world.do(lambda: other.acquire(blocking=False)).release)


def test_downgrade_that_was_not_heard_can_be_repeated(
    world: World, redis_url: str, proxy: FaultProxy, peek: Any
) -> None:
    """Whoever asked to only read does not write meanwhile; the store hears of it later."""
    hold = world.do(world.connect(f"redis://127.0.0.1:{proxy.port}").rwlock("k").write().acquire)
    for _ in range(3):
        proxy.lose_request(sha("rwlock_downgrade"))
    with pytest.raises(StoreError, match="did not confirm"):
        world.do(hold.downgrade)
    assert (hold.mode, peek.hget("k", "mode")) == ("read", "write")

    world.do(hold.downgrade)

    assert peek.hget("k", "mode") == "read"
    world.do(hold.release)
    assert not peek.exists("k")
