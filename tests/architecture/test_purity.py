"""What decides does no I/O: no clock, no socket, no thread below the drivers."""

from __future__ import annotations

import pytest

from .source import Module, modules
from .test_layers import layer

PURE = {
    "words",
    "errors",
    "model",
    "steps",
    "abreast",
    "events",
    "spi",
    "ledger",
    "recipes",
    "jobs",
}

FORBIDDEN = {
    "asyncio",
    "hiredis",
    "kazoo",
    "logging",
    "multiprocessing",
    "os",
    "random",
    "redis",
    "secrets",
    "select",
    "selectors",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "threading",
    "time",
}


def impurities(module: Module) -> set[str]:
    return {dotted.partition(".")[0] for dotted in module.imports} & FORBIDDEN


@pytest.mark.parametrize(
    "module", [module for module in modules() if layer(module.name) in PURE], ids=repr
)
def test_module_is_pure(module: Module) -> None:
    assert impurities(module) == set()


@pytest.mark.parametrize(
    "line", ["import time", "from asyncio import sleep", "def f():\n    import redis.asyncio"]
)
def test_a_planted_impurity_is_caught(line: str) -> None:
    assert impurities(Module("interlock.recipes.lock", line))
