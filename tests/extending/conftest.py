"""The example of a backend, installed as a plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stores import nothing_stumbles as nothing_stumbles

EXAMPLE = Path(__file__).parents[2] / "examples" / "backend_file"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip has installed the example."""
    folder = tmp_path_factory.mktemp("plugin")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    where = ["--no-deps", "--no-build-isolation", "--target", str(folder), str(EXAMPLE)]
    subprocess.run([*pip, *where], check=True, timeout=100, capture_output=True)
    return folder


@pytest.fixture
def plugin(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, where this test finds it, and no other test does."""
    monkeypatch.syspath_prepend(str(installed))
    return installed


@pytest.fixture
def url(plugin: Path, tmp_path: Path) -> str:
    """The URL of an empty store of the example."""
    return f"jsonfile://{tmp_path}/locks.json"
