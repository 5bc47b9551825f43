"""Schemes of plugins and of programs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock import Unsupported, UsageError, aio, register_backend
from interlock.api import registry
from interlock.api.connect import find_backend
from interlock.backends.memory import MemoryBackend
from interlock.drive import now
from interlock.errors import InterlockError

#: A plugin that takes one option, and has a mistake for each kind of trouble.
MODULE = """
from interlock.backends.memory import MemoryBackend
from interlock.drive import now

class Bad:
    label = "bad://"

    def __init__(self, url):
        pass

def opened(url, *, colour="red"):
    return MemoryBackend(f"{url} {colour}", now)

def any_option(url, **options):
    return MemoryBackend(f"{url} {sorted(options)}", now)

nothing = None
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(registry, "_registered", {})


class Site:
    """A folder on the path where packages are installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def install(self, package: str, **schemes: str) -> None:
        """Install a package with these entry points; its module is the plugin above."""
        (self._folder / "its_module.py").write_text(MODULE)
        (self._folder / "broken.py").write_text("import nowhere_to_be_found\n")
        info = self._folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{scheme} = {value}" for scheme, value in schemes.items()]
        text = "\n".join(["[interlock.backends]", *lines])
        (info / "entry_points.txt").write_text(text)
        importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Site(tmp_path)
    for module in ("its_module", "broken"):
        sys.modules.pop(module, None)


def label(url: str, **options: Any) -> str:
    return find_backend(url, options).label


# --- plugins -------------------------------------------------------------------------------------


def test_a_plugin_is_found_by_its_scheme(site: Site) -> None:
    site.install("a-plugin", toy="its_module:opened")

    for il in (interlock, aio):
        assert il.connect("toy://place")._session.backend.label == "memory://toy://place red"
    assert label("TOY://place", colour="blue") == "memory://TOY://place blue"


def test_a_plugin_that_takes_any_option_gets_it(site: Site) -> None:
    site.install("a-plugin", toy="its_module:any_option")

    assert label("toy://", colour=1, size=2).endswith("['colour', 'size']")


def test_a_plugin_is_told_only_what_was_said(site: Site) -> None:
    site.install("a-plugin", toy="its_module:any_option")

    with interlock.connect("toy://", username="ann", insecure_tls=False) as client:
        assert client._session.backend.label.endswith("['username']")


def refused(url: str, kind: type[Exception], **options: Any) -> str:
    with pytest.raises(kind) as refusal:
        find_backend(url, options)
    return str(refusal.value)


def test_an_option_that_a_plugin_does_not_take_is_told_those_that_it_takes(site: Site) -> None:
    site.install("a-plugin", toy="its_module:opened", bare="its_module:Bad")

    words = "connect() does not take 'size' for this store, "
    assert refused("toy://", TypeError, size=2) == words + "but colour"
    assert refused("bare://", TypeError, size=2) == words + "and has no options at all"


def test_a_plugin_that_cannot_be_imported_is_named_with_the_cause(site: Site) -> None:
    site.install("a-plugin", toy="broken:opened", other="its_module:gone")

    said = refused("toy://place", Unsupported)
    assert said.startswith("the plugin of toy:// (broken:opened of a-plugin) cannot be imported: ")
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in said
    assert "AttributeError" in refused("other://place", Unsupported)


def test_two_plugins_for_one_scheme_are_refused(site: Site) -> None:
    site.install("a-plugin", toy="its_module:opened")
    site.install("b-plugin", toy="its_module:any_option")

    assert refused("toy://", Unsupported) == (
        "toy:// is offered by two plugins, its_module:any_option of b-plugin and "
        "its_module:opened of a-plugin: uninstall one of them"
    )


def test_a_plugin_that_makes_no_backend_is_told_what_is_missing(site: Site) -> None:
    site.install("a-plugin", bare="its_module:Bad", none="its_module:nothing")

    assert refused("bare://", TypeError) == (
        "the plugin of bare:// (its_module:Bad of a-plugin) made a Bad, which is no backend: "
        "no directory, link, alink"
    )
    assert "is a NoneType, and no function" in refused("none://", Unsupported)


def test_an_unknown_scheme_is_told_those_of_plugins_too(site: Site) -> None:
    site.install("a-plugin", toy="its_module:opened")
    register_backend("mine", memory)

    assert refused("tyo://", Unsupported).endswith("sqlite:///path, mine://, toy://")


def test_a_plugin_cannot_take_a_built_in_scheme(site: Site) -> None:
    site.install("a-plugin", memory="its_module:opened")

    assert label("memory://place") == "memory://place"


def test_what_is_wrong_with_a_plugin_of_the_environment_says_where_it_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install("a-plugin", toy="broken:opened")
    monkeypatch.setenv("INTERLOCK_URL", "toy://")

    with pytest.raises(Unsupported, match=r"^INTERLOCK_URL in the environment: the plugin of toy"):
        interlock.connect()


def test_an_error_of_a_plugin_need_not_be_made_like_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(UsageError):
        def __init__(self, one: str, two: str) -> None:
            super().__init__(f"{one} and {two}")

    def odd(url: str) -> Any:
        raise Odd("this", "that")

    register_backend("odd", odd)
    monkeypatch.setenv("INTERLOCK_URL", "odd://")

    with pytest.raises(UsageError, match="INTERLOCK_URL in the environment: this and that"):
        interlock.connect()


# --- what programs register ----------------------------------------------------------------------


def memory(url: str) -> MemoryBackend:
    return MemoryBackend(url, now)


def test_a_program_registers_a_scheme() -> None:
    register_backend("mine", memory)
    register_backend("mine", memory)  # twice the same is once

    with interlock.connect("mine://place") as client, client.lock("orders") as hold:
        assert not hold.lost
    assert "does not take 'colour'" in refused("mine://", TypeError, colour=1)


def test_what_a_program_registers_counts_before_plugins(site: Site) -> None:
    site.install("a-plugin", toy="its_module:opened")
    register_backend("toy", memory)

    assert label("toy://place") == "memory://toy://place"


@pytest.mark.parametrize("scheme", ["", "Mine", "mine://", "5", None])
def test_a_scheme_must_be_one(scheme: Any) -> None:
    with pytest.raises(UsageError, match="scheme must be lower case"):
        register_backend(scheme, memory)


@pytest.mark.parametrize("scheme", ["redis", "valkeys", "zk", "memory", "sqlite"])
def test_a_built_in_scheme_is_not_registered(scheme: str) -> None:
    with pytest.raises(UsageError, match=f"{scheme}:// is built in"):
        register_backend(scheme, memory)


def test_one_scheme_has_one_factory() -> None:
    register_backend("mine", memory)

    with pytest.raises(UsageError, match="mine:// is registered already"):
        register_backend("mine", lambda url: memory(url))
    with pytest.raises(TypeError, match="factory must be a function"):
        register_backend("other", 5)  # type: ignore[arg-type]


def test_a_factory_that_does_not_say_what_it_takes_is_asked(site: Site) -> None:
    register_backend("text", str)  # type: ignore[arg-type]  # and its signature is not known

    with pytest.raises((TypeError, InterlockError)):
        find_backend("text://", {"colour": 1})
