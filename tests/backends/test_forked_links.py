"""A link that a fork has left to the parent refuses every call in the child: on every store, in
both worlds."""

from __future__ import annotations

import asyncio

import pytest

from interlock.api.connect import find_backend
from interlock.drive import arun, now, run
from interlock.errors import StoreUnavailable
from interlock.spi import Backend
from tests.support.stores import STORES

PARENTS = "this call belongs to the parent process"


@pytest.fixture(params=list(STORES))
def backend(request: pytest.FixtureRequest) -> Backend:
    return find_backend(STORES[request.param](request.getfixturevalue), {})


def test_a_thread_that_returns_into_its_parents_call_is_refused(backend: Backend) -> None:
    link = backend.link()
    run(backend.locks.look("name", now() + 5), link)
    # The thread of a ZooKeeper client, which a real child would not have.
    parents = getattr(getattr(link, "_transport", None), "_thread", None)

    link.after_fork()

    with pytest.raises(StoreUnavailable, match=PARENTS) as refused:
        run(backend.locks.look("name", now() + 5), link)
    assert refused.value.final
    if parents is not None:
        parents.request_close()
        assert parents.gone.wait(5)


def test_a_task_that_returns_into_its_parents_call_is_refused(backend: Backend) -> None:
    async def main() -> None:
        link = backend.alink()

        link.after_fork()

        with pytest.raises(StoreUnavailable, match=PARENTS) as refused:
            await arun(backend.locks.look("name", now() + 5), link)
        assert refused.value.final

    asyncio.run(main())
