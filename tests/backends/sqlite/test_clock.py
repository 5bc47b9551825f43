"""The instants that processes write down for each other, and the boot they belong to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from interlock.backends.sqlite.transport import clock
from interlock.errors import StoreMisconfigured


def test_instants_are_those_of_the_clock_that_goes_on_during_sleep() -> None:
    instant = clock.instants()

    before = time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
    read = instant()
    after = time.clock_gettime(time.CLOCK_BOOTTIME) * 1000

    assert before - 1 <= read <= after


def test_a_time_namespace_does_not_move_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outside = clock.instants()
    table = tmp_path / "timens_offsets"
    table.write_text("monotonic           0         0\nboottime         3600 500000000\n")
    monkeypatch.setattr(clock, "OFFSETS", table)

    inside = clock.instants()

    assert 3_600_000 <= outside() - inside() <= 3_601_000


def test_a_kernel_without_time_namespaces_has_no_offset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(clock, "OFFSETS", tmp_path / "missing")

    assert abs(clock.instants()() - time.clock_gettime(time.CLOCK_BOOTTIME) * 1000) < 1000


def test_a_boot_has_one_identity() -> None:
    assert clock.boot_id() == clock.boot_id() != ""


def test_a_system_that_tells_no_boots_apart_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(clock, "BOOT_ID", tmp_path / "missing")

    with pytest.raises(StoreMisconfigured, match="one boot from the next"):
        clock.boot_id()


def test_tokens_start_from_the_wall_clock_in_microseconds() -> None:
    assert abs(clock.wall_us() / 1e6 - time.time()) < 60
