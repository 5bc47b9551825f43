"""Finds out which tests need a server, and which are chosen.

-p tests.marks               all but those that repeat what others prove, marked `redundant`
-p tests.marks --everything  these too
-p tests.marks --quick       what needs neither server nor time
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

#: Everything in here talks to a server.
_SERVED = tuple(Path(__file__).parent / "backends" / server for server in ("redis", "zookeeper"))

#: What the names of parameters and fixtures begin with that stand for a server.
_SERVERS = (
    *("redis", "own_redis", "sentinel", "own_sentinels", "cluster", "own_cluster"),
    *("redlock", "own_redlock", "zk_", "zookeeper", "postgres"),
)

#: Claims that must see leases kept, or run out, or somebody wait, take their time.
_PATIENT = tuple(
    f"interlock.testing.contract.claims.{topic}"
    for topic in ("keeping", "losing", "waiting", "resilience")
)


#: One of the locks stands for the others.
_QUICKLY = ("lock", "rwlock", "latch", "multilock", "majority_of")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="what needs neither server nor time")
    parser.addoption("--everything", action="store_true", help="what repeats others as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if needs_server(item):
            item.add_marker(pytest.mark.server)
    if config.getoption("--quick"):
        _choose(config, items, is_quick)
    if not config.getoption("--everything"):
        _choose(config, items, lambda item: item.get_closest_marker("redundant") is None)


def _choose(
    config: pytest.Config, items: list[pytest.Item], chosen: Callable[[pytest.Item], bool]
) -> None:
    left_out = [item for item in items if not chosen(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if chosen(item)]


def needs_server(item: pytest.Item) -> bool:
    """Whether a test asks for a server: by its folder, by a parameter or by a fixture."""
    if _is_served(item.path):
        return True
    asked = (*map(str, _parameters(item).values()), *getattr(item, "fixturenames", ()))
    return any(each.startswith(_SERVERS) for each in asked)


@cache  # many tests share a file
def _is_served(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _SERVED)


def is_quick(item: pytest.Item) -> bool:
    """Whether a test needs neither a server nor much time; of the contract, a part."""
    if any(item.get_closest_marker(mark) for mark in ("server", "slow")):
        return False
    case = _parameters(item).get("case")
    return case is None or (
        getattr(case, "backend", None) == "memory"
        and getattr(case, "kind", None) in _QUICKLY
        and getattr(case, "claim", None).__module__ not in _PATIENT
    )


def _parameters(item: pytest.Item) -> dict[str, object]:
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else dict(callspec.params)
