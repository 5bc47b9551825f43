"""`interlock watch`: a picture in a terminal, lines elsewhere."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

import interlock
from interlock.cli.main import main
from interlock.cli.watch_picture import BAR, Looks, lease_bar, picture
from interlock.errors import StoreUnavailable
from interlock.model import Holder, LockInfo

from .shell import PROGRAM, Shell
from .terminals import CTRL_C, PseudoTerminal


def rendered(looks: Looks, at: float, height: int = 30, width: int = 100) -> list[str]:
    console = Console(width=width, height=height, color_system=None, force_terminal=True)
    with console.capture() as capture:
        console.print(picture(looks, "memory://", at, height))
    return [line.rstrip() for line in capture.get().splitlines()]


def seen(*infos: LockInfo, asked: float = 100.0) -> Looks:
    looks = Looks(list, 1.0)
    looks.take(list(infos), asked)
    return looks


def held(name: str, *owners: str, left: float | None = 30.0, waiters: int = 0) -> LockInfo:
    holders = tuple(Holder(owner, "host", 17, "worker", expires_in=left) for owner in owners)
    return LockInfo(name, "lock", holders, left, waiters)


def test_picture_shows_holders_waiters_and_leases() -> None:
    lines = rendered(seen(held("orders:42", "one", waiters=3), held("r", "two", "three")), 100.0)

    assert lines[0].startswith("Interlock memory://")
    assert lines[0].endswith("2 in use, 3 waiting; Ctrl-C leaves")
    assert lines[3].startswith("orders:42")
    assert "host:17 (worker)" in lines[3]
    assert f"{'━' * BAR} 30 s" in lines[3]
    assert lines[3].endswith("●●● 3")
    assert lines[4].startswith("r ") and lines[5].startswith("  ")


def test_a_lease_shrinks_between_looks_and_is_whole_when_it_is_renewed() -> None:
    looks = seen(held("a", "one"))
    assert f"{'━' * 6}{'╌' * 6} 15 s" in rendered(looks, 115.0)[3]

    looks.take([held("a", "one", left=30.0)], 116.0)
    assert f"{'━' * 12} 30 s" in rendered(looks, 116.0)[3]
    assert f"{'╌' * 12} 0 s" in rendered(looks, 999.0)[3]


def test_picture_fits_the_terminal() -> None:
    looks = seen(*(held(f"{'long ' * 30}{number}", "one") for number in range(100)))

    lines = rendered(looks, 100.0, height=24, width=80)

    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "… and 81 lines more"


def test_picture_says_when_the_store_does_not_answer() -> None:
    looks = seen(held("a", "one"))
    looks.trouble = "redis://host does not answer"

    lines = rendered(looks, 103.0)

    assert lines[0].startswith("redis://host does not answer; 3 s old")
    assert lines[3].startswith("a ")


def test_a_look_that_fails_is_told_and_the_next_one_made() -> None:
    told: list[str] = []

    def look() -> list[LockInfo]:
        told.append(looks.trouble)
        if len(told) == 1:
            raise StoreUnavailable("it is down")
        if len(told) == 3:
            looks._stop.set()
        return [held("a", "one")]

    looks = Looks(look, 0.001)
    with looks:
        looks._thread.join(10)

    assert told == ["", "it is down", ""]


def test_a_bar_without_a_length_is_empty() -> None:
    assert lease_bar(0.0, 0.0).plain == f"{'╌' * BAR} 0 s"


def test_a_terminal_has_a_picture_that_leaves_no_trace(
    shell: Shell, client: interlock.Client
) -> None:
    words = (*PROGRAM, "watch", "--every", "100ms")
    with client.lock("orders:42"), PseudoTerminal(*words, env=shell.environment) as terminal:
        terminal.expect("\x1b[?1049h")  # another screen
        terminal.expect("orders:42")
        terminal.press(CTRL_C)
        terminal.expect("\x1b[?1049l")  # and back
        assert terminal.ended() == 0


@pytest.mark.usefixtures("here")
def test_elsewhere_each_look_is_a_table_or_a_line_of_json(
    client: interlock.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    with client.lock("a"):
        assert main(["watch", "--count", "2", "--every", "50ms", "--json"]) == 0
        looks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert main(["watch", "--count", "1", "nothing:*"]) == 0
        plain = capsys.readouterr().out

    assert [[each["name"] for each in look["locks"]] for look in looks] == [["a"], ["a"]]
    assert looks[0]["at"] < looks[1]["at"]
    assert plain.splitlines()[1].startswith("NAME")
