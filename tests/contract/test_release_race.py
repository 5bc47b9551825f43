"""A hold that was taken twice is given back by two, each once, at the same moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import interlock


def release_amid(hold: interlock.Hold, strike: Callable[[], None]) -> None:
    """Release, and let something else happen just before the release is counted."""

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "leaves":
            sys.setprofile(None)
            strike()

    sys.setprofile(profile)
    try:
        hold.release()
    finally:
        sys.setprofile(None)


def in_thread(function: Callable[[], None]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@pytest.mark.parametrize("other", ["a signal handler", "a thread"])
def test_the_last_of_two_releases_talks_to_the_store_whichever_it_is(other: str) -> None:
    with interlock.connect("memory://race") as client, interlock.connect("memory://race") as rival:
        lock = client.lock("k")
        hold = lock.acquire()
        lock.acquire()
        thrice = hold.release if other == "a signal handler" else lambda: in_thread(hold.release)

        release_amid(hold, thrice)

        assert rival.lock("k").try_acquire() is not None
