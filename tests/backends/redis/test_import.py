"""What importing Interlock costs, and what it says when redis-py is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from interlock import Unsupported, aio, connect

#: What nobody should pay for who only imports the package.
HEAVY = ("redis", "hiredis", "kazoo", "click", "rich", "starlette", "uvicorn", "sqlite3")


def python(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)


def test_import_loads_no_backend_and_no_extra() -> None:
    program = f"import interlock, sys; print([m for m in {HEAVY} if m in sys.modules])"
    assert python("-c", program).stdout.strip() == "[]"


def test_import_is_quick() -> None:
    """Some tens of milliseconds on a quiet machine; on a busy one all goes more slowly."""
    assert min(import_seconds() for _ in range(3)) < 0.25


def import_seconds() -> float:
    program = "import time; at = time.process_time(); import interlock; "
    return float(python("-c", program + "print(time.process_time() - at)").stdout)


@pytest.mark.parametrize("missing", ["redis", "hiredis"])
def test_missing_extra_is_one_helpful_sentence(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("interlock.backends.redis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("interlock.backends.redis", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    for make in (connect, aio.connect):
        with pytest.raises(Unsupported) as refusal:
            make("redis://localhost")
        assert str(refusal.value).count("pip install 'interlock[redis]'") == 1
