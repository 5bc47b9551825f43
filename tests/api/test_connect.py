"""What `connect` takes beside a URL.

A call below that a type checker has to refuse says `type: ignore`; one that it does not refuse
makes that comment superfluous, which fails `make lint`.
"""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest

import interlock
from interlock import aio
from interlock.api.connect import aconnect, find_backend
from interlock.backends.memory import MemoryBackend
from interlock.drive import now

REDIS = "insecure_tls, longest_lease, password, replicas, restart_guard, username"
ZOOKEEPER = "acl, auth, insecure_tls, password, sasl, session_timeout, username"

WORLDS = pytest.mark.parametrize("connect", [interlock.connect, aio.connect])


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(str(uuid.uuid4()), now)


def test_a_backend_is_taken_as_it_is(backend: MemoryBackend) -> None:
    async def tasks() -> int:
        async with aio.connect(backend) as client, client.lock("orders") as hold:
            assert client._session.backend is backend
            return hold.token

    with interlock.connect(backend) as client:
        assert client._session.backend is backend
        with client.lock("orders") as hold:
            pass
    assert asyncio.run(tasks()) > hold.token


def test_an_observer_of_a_backend_is_told(backend: MemoryBackend) -> None:
    told: list[interlock.Event] = []
    with interlock.connect(backend, observer=told.append) as client, client.lock("orders"):
        pass

    assert [type(event).__name__ for event in told] == ["Granted", "Released"]


@WORLDS
def test_a_backend_has_no_options(connect: Callable[..., Any], backend: MemoryBackend) -> None:
    with pytest.raises(TypeError, match="'password' for this store, and has no options at all"):
        connect(backend, password="secret")


@WORLDS
@pytest.mark.parametrize(
    ("url", "known"),
    [("redis://localhost", REDIS), ("unix:///s", REDIS), ("zk://localhost", ZOOKEEPER)],
)
def test_an_unknown_option_is_told_the_known_ones(
    connect: Callable[..., Any], url: str, known: str
) -> None:
    with pytest.raises(TypeError, match=f"'pasword' for this store, but {known}$") as refused:
        connect(url, pasword="secret")
    assert "secret" not in str(refused.value)


@WORLDS
@pytest.mark.parametrize(
    "option", [{"session_timeout": 5}, {"auth": []}, {"sasl": {}}, {"acl": "open"}]
)
def test_an_option_of_another_store_is_told_the_known_ones(
    connect: Callable[..., Any], option: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(option))!r} for this store, but {REDIS}$"):
        connect("redis://localhost", **option)
    with pytest.raises(TypeError, match="no options at all"):
        connect("memory://", **option)


@WORLDS
def test_an_option_that_is_left_open_is_none(connect: Callable[..., Any]) -> None:
    nothing = dict.fromkeys(("username", "password", "session_timeout", "auth", "sasl", "acl"))

    for url in ("memory://", "redis://ann:secret@localhost", "zk://ann:secret@localhost"):
        assert connect(url, insecure_tls=False, **nothing)._session.backend.label


def test_the_options_reach_their_store() -> None:
    told = {"username": "ann", "password": "secret", "session_timeout": 7.0}
    backend: Any = find_backend("zk://localhost", told)

    settings = backend._settings
    assert {word: getattr(settings, word) for word in told} == told


def test_a_type_checker_knows_the_options() -> None:
    with pytest.raises(TypeError):
        interlock.connect("memory://", pasword="secret")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        aio.connect("memory://", pasword="secret")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        interlock.connect("zk://localhost", session_timeout="5s")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        interlock.connect(5)  # type: ignore[arg-type]


def test_both_worlds_document_every_option() -> None:
    doc, other = inspect.getdoc(interlock.connect), inspect.getdoc(aconnect)
    assert doc is not None
    assert other is not None

    assert doc.partition("\n")[2] == other.partition("\n")[2]
    for word in inspect.signature(interlock.connect).parameters.keys() - {"options"}:
        assert word in doc


def test_importing_interlock_imports_neither_asyncio_nor_what_finds_plugins() -> None:
    modules = ("asyncio", "importlib.metadata", "redis", "kazoo", "interlock.links")
    program = f"import interlock, sys; print([m for m in {modules} if m in sys.modules])"
    command = [sys.executable, "-c", program]

    assert subprocess.check_output(command, text=True, timeout=30).strip() == "[]"


def test_built_in_schemes_look_for_no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.api.registry._plugins", lambda: pytest.fail("looked"))

    for url in ("memory://", "redis://localhost", "zk://localhost", "sqlite:///tmp/locks.db"):
        find_backend(url, {})
