"""The example of a backend, installed as a plugin."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import nothing_stumbles as nothing_stumbles

EXAMPLE = Path(__file__).parents[2] / "examples" / "backend_file"


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder into which pip has installed the example; programs find it there."""
    folder = tmp_path_factory.mktemp("plugin")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    where = ["--no-deps", "--no-build-isolation", "--target", str(folder), str(EXAMPLE)]
    subprocess.run([*pip, *where], check=True, timeout=100, capture_output=True)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture
def url(plugin: Path, tmp_path: Path) -> str:
    """The URL of an empty store of the example."""
    return f"jsonfile://{tmp_path}/locks.json"
