"""The peer works hard on one name, or through a cut, and tells what it saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.zookeepers import ZooKeeperServer

from ...harness.curators import curator
from ...harness.foreign import SOON, Foreign
from ...harness.matrix import meets
from ...harness.peers import Cast

#: What Curator does alone fills no cell of the table.
pytestmark = meets("Curator", "itself", "none", direction=())

RUN_MS = 500


def soak(jvm: Foreign, folder: Path, path: str, of: str, **terms: Any) -> Any:
    """Four threads want one name for a while."""
    work = {"names": [path], "folder": str(folder), "threads": 4, "run_ms": RUN_MS, **terms}
    return jvm.ask(RUN_MS / 1000 + SOON, kind="peer", verb="soak", actor="soak", of=of, **work)


@pytest.mark.parametrize("of", ["mutex", "smutex", "semaphore", "write"])
def test_one_at_a_time_with_rising_tokens(
    of: str, jvm: Foreign, path: str, tmp_path: Path
) -> None:
    told = soak(jvm, tmp_path, path, of)
    assert (told["violations"], told["errors"]) == ([], [])
    tokens = [int(line) for line in (tmp_path / "tokens-0").read_text().split()]
    assert len(tokens) > 4
    assert tokens == sorted(set(tokens)) == sorted(told["tokens"][path])
    assert int((tmp_path / "count-0").read_text()) == len(tokens)


def test_readers_see_nothing_change(jvm: Foreign, path: str, tmp_path: Path) -> None:
    told = soak(jvm, tmp_path, path, "write", reads=True)
    assert (told["violations"], told["errors"]) == ([], [])
    assert told["tokens"][path]


def test_so_many_at_a_time(jvm: Foreign, path: str, tmp_path: Path) -> None:
    told = soak(jvm, tmp_path, path, "semaphore", max=2)
    assert (told["violations"], told["errors"]) == ([], [])
    tokens = told["tokens"][path]
    assert len(set(tokens)) == len(tokens) > 4
    assert list((tmp_path / "inside-0").iterdir()) == []


@pytest.mark.parametrize(("of", "max"), [("mutex", 1), ("semaphore", 2)])
def test_whoever_meets_one_too_many_says_so(
    of: str, max: int, jvm: Foreign, path: str, tmp_path: Path
) -> None:
    """The markers of others, who did not ask anybody."""
    (tmp_path / "inside-0").mkdir()
    for number in range(max):
        (tmp_path / "inside-0" / f"stranger-{number}").touch()
    told = soak(jvm, tmp_path, path, of, max=max)
    assert len(told["violations"]) == len(told["tokens"][path]) > 0


def test_a_cut_is_told_and_a_session_outlives_it(version: str) -> None:
    with (
        ZooKeeperServer() as server,
        curator(server.hosts, session_ms=60_000, debian=version == "debian") as jvm,
    ):
        java = Cast(jvm).actor()
        java.ask("mutex", "acquire", "/it")
        token = java.ask("mutex", "token", "/it")
        server.stop()
        server.start()
        eventually(lambda: states(jvm)[-1] == "RECONNECTED", within=SOON)
        assert states(jvm) == ["CONNECTED", "SUSPENDED", "RECONNECTED"]
        assert java.ask("mutex", "token", "/it") == token


def states(jvm: Foreign) -> list[str]:
    return [each["state"] for each in jvm.ask(kind="peer", verb="state")]
