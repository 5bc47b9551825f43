"""`ls`, `show`, `wait`, `revoke` and `doctor`: for people, and as JSON for programs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import interlock
from interlock.cli.main import main
from interlock.cli.tables import FIELDS
from interlock.errors import LockLost

from .shell import PROGRAM, Shell
from .terminals import PseudoTerminal

pytestmark = pytest.mark.usefixtures("here")

Printed = Callable[..., Any]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """What a command prints as JSON, with its exit code."""

    def call(*words: str) -> tuple[int, Any]:
        code = main([*words, "--json"])
        (line,) = capsys.readouterr().out.splitlines()
        return code, json.loads(line)

    return call


@pytest.fixture(params=["sqlite", "redis", "zookeeper"])
def held(
    request: pytest.FixtureRequest,
    url_of: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[interlock.Hold]:
    """The lock `orders:42`, held on each store."""
    url = url_of(request.param)
    monkeypatch.setenv("INTERLOCK_URL", url)
    with interlock.connect(url) as client:
        yield client.lock("orders:42", lease=3).acquire()


def test_what_is_held_is_listed_shown_and_revoked(held: interlock.Hold, printed: Printed) -> None:
    code, (listed,) = printed("ls", "orders:*")
    assert (code, listed["name"], listed["kind"], listed["waiters"]) == (0, "orders:42", "lock", 0)
    assert [each["owner"] for each in listed["holders"]] == [held.owner]
    assert printed("ls", "other:*") == (0, [])

    code, shown = printed("show", "orders:42")
    assert (code, shown["holders"][0]["owner"]) == (0, held.owner)
    assert 0 < shown["expires_in"] <= 3

    code, revoked = printed("revoke", "orders:42", "--reason", "a test")
    assert (code, revoked["holders"][0]["owner"]) == (0, held.owner)
    with pytest.raises(LockLost, match="a test"):
        held.release()
    assert printed("show", "orders:42") == (1, None)
    assert printed("revoke", "orders:42") == (1, None)


def test_every_field_is_documented(client: interlock.Client, printed: Printed) -> None:
    with client.lock("a"):
        _, (listed,) = printed("ls")

    (holder,) = listed["holders"]
    fields = [*listed, *(f"holders[].{name}" for name in holder)]
    assert sorted(fields) == sorted(name for name, *_ in FIELDS)


def test_people_read_a_table_and_lines(
    client: interlock.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    latch = client.latch("import")
    latch.start(3)
    with (
        client.lock("a name with spaces"),
        client.rwlock("r").read(),
        client.semaphore("s", permits=2),
    ):
        assert main(["ls"]) == 0
        head, *rows = capsys.readouterr().out.splitlines()
        assert main(["show", "s"]) == 0
        shown = capsys.readouterr().out

    assert head.split() == ["NAME", "KIND", "TOKEN", "LEASE", "WAITERS", "HOLDER"]
    assert [row.split("  ")[0] for row in rows] == ["a name with spaces", "import", "r", "s"]
    assert rows[1].endswith("3 to be counted down")
    assert rows[2].endswith(" reads")
    assert "1 of 2 taken, " in rows[3]
    assert shown.startswith("s  semaphore, 0 waiting, 1 of 2 permits free\n  held by ")
    assert main(["show", "free"]) == 1
    assert capsys.readouterr().out == "free  free\n"


def test_a_terminal_shows_a_table_in_colours(shell: Shell, client: interlock.Client) -> None:
    with (
        client.lock("orders:42"),
        PseudoTerminal(*PROGRAM, "ls", env=shell.environment) as terminal,
    ):
        terminal.expect("orders:42")
        terminal.expect("\x1b[")
        assert terminal.ended() == 0


def test_wait_ends_when_the_name_is_free(
    client: interlock.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    hold = client.lock("a").acquire()
    assert main(["wait", "-w", "100ms", "a"]) == 75
    assert "'a' is still held by " in capfd.readouterr().err

    asked = threading.Timer(0.2, lambda: client.revoke("a"))
    began = time.monotonic()
    asked.start()
    assert main(["wait", "a"]) == 0

    assert time.monotonic() - began >= 0.2
    asked.join()
    with pytest.raises(LockLost):
        hold.release()


def test_wait_knows_permits_and_latches(client: interlock.Client, printed: Printed) -> None:
    latch = client.latch("import")
    latch.start(1)
    with client.semaphore("s", permits=2):
        assert main(["wait", "s"]) == 0
        with client.semaphore("s"):
            assert printed("wait", "-w", "0", "s")[0] == 75
    code, told = printed("wait", "-w", "0", "import")
    assert (code, told["name"], told["free"]) == (75, "import", False)
    latch.count_down()
    code, told = printed("wait", "-w", "0", "import")
    assert (code, told["free"]) == (0, True)


def test_a_store_out_of_reach_is_69_in_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "--url", "redis://:canary@127.0.0.1:1"]) == 69
    said = capfd.readouterr()

    assert said.out == ""
    assert said.err.startswith("interlock: ")
    assert said.err.count("\n") == 1
    assert "canary" not in said.err


def test_doctor_finds_nothing_here(printed: Printed, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("doctor") == (0, [])
    assert main(["doctor"]) == 0
    assert "nothing was found" in capsys.readouterr().out


def test_doctor_is_1_where_something_is_serious(
    redis_url: str, printed: Printed, capsys: pytest.CaptureFixture[str]
) -> None:
    import redis

    port = int(redis_url.rpartition(":")[2].partition("/")[0])
    with redis.Redis(port=port) as server:
        server.config_set("maxmemory", "1gb")
        server.config_set("maxmemory-policy", "allkeys-lru")
        try:
            code, findings = printed("doctor", "--url", redis_url)
            main(["doctor", "--url", redis_url])
        finally:
            server.config_set("maxmemory-policy", "noeviction")
            server.config_set("maxmemory", "0")

    assert code == 1
    assert findings[0]["code"] == "eviction"
    assert set(findings[0]) == {"code", "severity", "node", "message", "advice"}
    assert capsys.readouterr().out.startswith("serious eviction ")


def test_names_are_completed(
    client: interlock.Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_INTERLOCK_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "interlock show ord")
    monkeypatch.setenv("COMP_CWORD", "2")
    with client.lock("orders:42"), client.lock("other"), pytest.raises(SystemExit):
        main([])

    assert capsys.readouterr().out == "plain,orders:42\n"
