"""Calls of tasks that wait for a connection which is never opened."""

from __future__ import annotations

import asyncio
import socket
import time

from interlock import StoreUnavailable
from interlock.backends.redis.aio import RedisAsyncLink
from interlock.backends.redis.scripts import script
from interlock.backends.redis.transport.factories import UrlFactory
from interlock.backends.redis.url import read_url
from interlock.drive import now
from interlock.steps import Call

#: So many that to look at all of them for each would take a quarter of a minute.
MANY = 16_000


def test_many_calls_that_cannot_be_sent_in_time_do_not_hold_up_the_loop() -> None:
    async def scene(port: int) -> float:
        link = RedisAsyncLink(UrlFactory(read_url(f"redis://127.0.0.1:{port}")))
        until = now() + 1.0
        calls = [link.call(Call(script("tomb_read"), ("k",), (), until)) for _ in range(MANY)]
        began = time.monotonic()
        await asyncio.wait(calls)
        assert all(isinstance(each.exception(), StoreUnavailable) for each in calls)
        await link.close()
        return time.monotonic() - began

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        assert asyncio.run(scene(deaf.getsockname()[1])) < 4.0
