"""What INTERLOCK_URL does to `connect()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import interlock
from interlock import Unsupported, UsageError, aio

SECRET = "hunter2"


@pytest.fixture(params=[interlock.connect, aio.connect], ids=["threads", "tasks"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    function: Callable[..., Any] = request.param
    return function


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        ("reddis://host", Unsupported, "reddis:// is not a store"),
        (SECRET, UsageError, "must be a URL"),
        (f"redis://:{SECRET}@host:port", UsageError, "port in the URL"),
        (f"redis://:{SECRET}@host?tls=no", UsageError, "tls"),
        (f"zk://ann:{SECRET}@", UsageError, ""),
        ("sqlite:locks.db", UsageError, "absolute"),
        ("sqlite:///:memory:", UsageError, "memory://"),
    ],
)
def test_a_url_that_is_wrong_is_said_to_come_from_the_environment(
    connect: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    kind: type[Exception],
    words: str,
) -> None:
    monkeypatch.setenv("INTERLOCK_URL", url)

    with pytest.raises(kind, match=r"^INTERLOCK_URL in the environment: ") as refused:
        connect()

    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_url_in_the_program_is_not_laid_at_its_door(
    connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_URL", "memory://")

    with pytest.raises(Unsupported) as refused:
        connect("reddis://host")

    assert "INTERLOCK_URL" not in str(refused.value)


def test_it_names_the_store(connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_URL", "memory://environment")

    assert (
        connect()._session.backend.label == connect("memory://environment")._session.backend.label
    )
