"""How far a reader has to follow a call through the source."""

from __future__ import annotations

from tools.ways import SEMAPHORE_LIMIT, zookeeper_semaphore


def test_acquiring_a_semaphore_changes_file_seldom(zk_url: str) -> None:
    way = zookeeper_semaphore(zk_url).to_the_link

    assert 0 < way.changes < SEMAPHORE_LIMIT
    assert any("semaphores.py" in call.file for call in way.calls)
