"""Every example on every page runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .pages import Example, examples

#: How pages write the address of a Redis server that is there.
REDIS = "redis://localhost:6379"

EXAMPLES = list(examples())


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own, also for the default store; and the handlers of before, after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("INTERLOCK_URL", raising=False)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _case(example: Example) -> Any:
    marks = [pytest.mark.server] if REDIS in example.text else []
    return pytest.param(example, marks=marks)


def run(example: Example, text: str) -> None:
    code = compile(text, str(example), "exec")
    exec(code, {"__name__": "__main__"})


@pytest.mark.parametrize("example", [_case(example) for example in EXAMPLES], ids=str)
def test_example_runs(example: Example, request: pytest.FixtureRequest) -> None:
    text = example.text
    if REDIS in text:
        text = text.replace(REDIS, request.getfixturevalue("redis_url"))

    run(example, text)


def test_the_first_page_shows_both_worlds() -> None:
    texts = [example.text for example in EXAMPLES if example.page == "README.md"]

    assert any("interlock.connect(" in text for text in texts)
    assert any("aio.connect(" in text for text in texts)
