"""What `import interlock` costs, and what else it brings along.

Modules are compiled before they are timed, as they are wherever a package is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

from .method import Effort
from .report import Answer, Table, count, progress

HEAVY = (
    "redis",
    "hiredis",
    "kazoo",
    "click",
    "rich",
    "uvicorn",
    "starlette",
    "sqlite3",
    "ssl",
    "asyncio",
    "multiprocessing",
    "concurrent.futures",
)
#: Those that a program which only wants a lock must not pay for.
FORBIDDEN = ("redis", "hiredis", "kazoo", "click", "rich", "uvicorn", "starlette")

PROGRAM = f"""
import json, sys, time
before = set(sys.modules)
used = time.process_time()
began = time.perf_counter()
import MODULE
took = time.perf_counter() - began
spent = time.process_time() - used
new = set(sys.modules) - before
heavy = [name for name in {HEAVY!r} if name in new]
print(json.dumps([took, spent, len(new), heavy]))
"""


def ask(effort: Effort) -> Answer:
    """Fresh interpreters, one after the other; asyncio alone for comparison."""
    progress("importing")
    answer = Answer()
    table = Table("importing", ("", "ms", "CPU ms", "modules", "heavy ones among them"))
    for module in ("interlock", "asyncio", "redis"):
        runs = _imports(module, effort.of(15, 7))
        took, spent = (1000 * median(run[i] for run in runs) for i in (0, 1))
        _, _, new, heavy = runs[0]
        table.add(f"import {module}", count(took), count(spent), new, " ".join(heavy))
        answer.figures[f"importing.{module}"] = {
            "ms": took,
            "cpu_ms": spent,
            "modules": new,
            "heavy": heavy,
            "forbidden": len([each for each in heavy if each in FORBIDDEN]),
        }
    answer.tables.append(table)
    return answer


def _imports(module: str, times: int) -> list[Any]:
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        places = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        places.pop("PYTHONDONTWRITEBYTECODE", None)
        _import(module, places)
        return [_import(module, places) for _ in range(times)]


def _import(module: str, places: dict[str, str]) -> Any:
    command = [sys.executable, "-c", PROGRAM.replace("MODULE", module)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=30, env=places
    )
    return json.loads(done.stdout)
