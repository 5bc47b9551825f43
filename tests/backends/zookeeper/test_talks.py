"""What the proxy makes of frames, without a network."""

from __future__ import annotations

import struct

from tests.support.talks import Talk, Tally


def frame(*numbers: int) -> bytes:
    return struct.pack(f">{1 + len(numbers)}i", 4 * len(numbers), *numbers)


def greeted() -> Talk:
    """A connection on which the greetings have been exchanged."""
    talk = Talk()
    talk.ask(frame(0, 0))
    talk.answer(frame(0, 0), heard=0)
    return talk


def test_watch_event_is_no_answer() -> None:
    talk, tally = greeted(), Tally()
    tally.add(talk, talk.ask(frame(1, 3)), now=1)
    assert talk.answer(frame(-1), heard=2) is None
    tally.add(talk, talk.ask(frame(2, 8)), now=3)
    assert tally.trips == 1

    answered = talk.answer(frame(1), heard=4)
    tally.add(talk, talk.ask(frame(3, 2)), now=5)

    assert answered is not None and answered.name == "exists"
    assert (tally.names, tally.trips) == (["exists", "getChildren", "delete"], 2)


def test_late_answer_to_an_earlier_burst_does_not_end_the_next() -> None:
    talk, tally = greeted(), Tally()
    tally.add(talk, talk.ask(frame(1, 15)), now=1)
    tally.add(talk, talk.ask(frame(2, 8)), now=1)
    talk.answer(frame(1), heard=2)
    tally.add(talk, talk.ask(frame(3, 2)), now=3)
    talk.answer(frame(2), heard=4)
    tally.add(talk, talk.ask(frame(4, 9)), now=5)

    assert tally.trips == 2


def test_greeting_is_a_request_without_a_number() -> None:
    talk = Talk()

    assert talk.ask(frame(7, 3)).name == "connect"
    answered = talk.answer(frame(0, 400), heard=0)
    assert answered is not None and answered.name == "connect"


def test_unknown_operation_is_called_by_its_code() -> None:
    assert greeted().ask(frame(1, 4711)).name == "4711"
