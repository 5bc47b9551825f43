"""Two drivers for the same algorithms: one blocks a thread, one awaits.

`run` and `arun` are the only code of the project that is written twice, on purpose, and
a test holds them equal up to `async` and `await`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from .spi import AsyncLink, Link
from .steps import (
    Arrival,
    Begin,
    Call,
    Elsewhere,
    Listen,
    Park,
    Reply,
    Request,
    Settle,
    Steps,
    Together,
    Via,
    finished,
)

R = TypeVar("R")

#: The holder's clock: it goes on while the machine sleeps, as leases do.  A partial and not
#: a function, because it is read ten times in each acquisition.
now: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic
)


def run(steps: Steps[R], link: Link) -> R:
    """Drive `steps` to its end in this thread."""
    __tracebackhide__ = True
    reply: Reply = None
    error: BaseException | None = None
    try:
        while True:
            try:
                while True:  # inside, because a Ctrl-C may strike where a loop goes round
                    request = steps.send(reply) if error is None else steps.throw(error)
                    reply = error = None
                    if type(request) is Call:  # on every hot path, so without a detour
                        reply = link.call(request)
                    else:
                        reply = perform(request, link)
            except StopIteration as end:
                result: R = end.value
                return result
            except BaseException as interruption:
                if finished(steps):
                    raise
                error = interruption
    finally:
        del error


def perform(request: Request, link: Link) -> Reply:
    """Perform a request other than a call on a blocking link."""
    if type(request) is Park:
        return link.park(request.wakes, request.until)
    if type(request) is Listen:
        return link.listen(request.topics, request.until)
    if type(request) is Together:
        if request.enough is None:
            return link.together(request.calls)
        several: Any = link  # only stores of several nodes say it: see `spi.SeveralNodes`
        return several.ask_nodes(request.calls, request.enough)
    if type(request) is Elsewhere:
        return request.run(request.steps)
    return perform_abreast(request, link)


def perform_abreast(request: Request, link: Link) -> Reply:
    """Perform a request of algorithms of several clients: see `abreast`."""
    if type(request) is Begin:
        return request.client.link.begin(request.calls)
    if type(request) is Arrival:
        return link.arrive(request.flights, request.until)
    if type(request) is Settle:
        return link.settle(request.flights)
    if type(request) is Via:
        theirs: Link = request.client.link
        if type(request.request) is Call:
            return theirs.call(request.request)
        return perform(request.request, theirs)
    raise TypeError(f"not a request: {request!r}")


async def arun(steps: Steps[R], link: AsyncLink) -> R:
    """Drive `steps` to its end on the running event loop."""
    __tracebackhide__ = True
    reply: Reply = None
    error: BaseException | None = None
    try:
        while True:
            try:
                while True:  # inside, because a Ctrl-C may strike where a loop goes round
                    request = steps.send(reply) if error is None else steps.throw(error)
                    reply = error = None
                    if type(request) is Call:  # on every hot path, so without a detour
                        reply = await link.call(request)
                    else:
                        reply = await aperform(request, link)
            except StopIteration as end:
                result: R = end.value
                return result
            except BaseException as interruption:
                if finished(steps):
                    raise
                error = interruption
    finally:
        del error


async def aperform(request: Request, link: AsyncLink) -> Reply:
    """Perform a request other than a call on an asyncio link."""
    if type(request) is Park:
        return await link.park(request.wakes, request.until)
    if type(request) is Listen:
        return await link.listen(request.topics, request.until)
    if type(request) is Together:
        if request.enough is None:
            return await link.together(request.calls)
        several: Any = link  # only stores of several nodes say it: see `spi.SeveralNodes`
        return await several.ask_nodes(request.calls, request.enough)
    if type(request) is Elsewhere:
        return await request.run(request.steps)
    return await aperform_abreast(request, link)


async def aperform_abreast(request: Request, link: AsyncLink) -> Reply:
    """Perform a request of algorithms of several clients: see `abreast`."""
    if type(request) is Begin:
        return request.client.link.begin(request.calls)
    if type(request) is Arrival:
        return await link.arrive(request.flights, request.until)
    if type(request) is Settle:
        return await link.settle(request.flights)
    if type(request) is Via:
        theirs: AsyncLink = request.client.link
        if type(request.request) is Call:
            return await theirs.call(request.request)
        return await aperform(request.request, theirs)
    raise TypeError(f"not a request: {request!r}")
