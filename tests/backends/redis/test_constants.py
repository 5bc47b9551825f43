"""What the scripts repeat of Python's constants is what Python says."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from interlock.backends.redis.keys import WAKE
from interlock.model import PROVISIONAL
from interlock.recipes.lock import POLL_CAP

SCRIPTS = files("interlock.backends.redis.scripts")
NAMES = sorted(path.name.removesuffix(".lua") for path in SCRIPTS.iterdir() if ".lua" in path.name)


def text(name: str) -> str:
    return SCRIPTS.joinpath(f"{name}.lua").read_text(encoding="utf-8")


HANDING_OVER = [name for name in NAMES if "provisional_ms" in text(name)]
WAKING = [name for name in NAMES if "local wake" in text(name)]


def test_the_scripts_that_hand_over_are_found() -> None:
    assert len(HANDING_OVER) >= 9 and set(HANDING_OVER) <= set(WAKING)


@pytest.mark.parametrize("name", HANDING_OVER)
def test_a_script_hands_over_as_the_model_says(name: str) -> None:
    found = re.search(r"local wake, provisional_ms[\w, ]* = '[^']*', (\d+)", text(name))

    assert found is not None
    assert int(found.group(1)) == PROVISIONAL * 1000


@pytest.mark.parametrize("name", WAKING)
def test_a_script_wakes_where_clients_listen(name: str) -> None:
    found = re.search(r"local wake[\w, ]* = '([^']*)'", text(name))

    assert found is not None
    assert found.group(1) == WAKE


@pytest.mark.parametrize("name", ["lock_attempt", "mutex_attempt"])
def test_a_queue_outlives_every_pause_between_two_questions(name: str) -> None:
    found = re.search(r"call\('PEXPIRE', queue, (\d+)\)", text(name))

    assert found is not None
    assert int(found.group(1)) >= 3 * POLL_CAP * 1000
