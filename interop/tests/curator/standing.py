"""Who stands at a name of ZooKeeper, seen from outside."""

from __future__ import annotations

from typing import Any

from kazoo.exceptions import NoNodeError

from interlock.backends.zookeeper.layout import is_node, is_ours


def standing(peek: Any, path: str) -> list[str]:
    """The paths of all who hold or wait there, in any of its directories, by their numbers."""
    found = [f"{path}/{each}" for each in children(peek, path)]
    folders = [each for each in found if not is_node(each.rpartition("/")[2])]
    inside = [f"{folder}/{each}" for folder in folders for each in children(peek, folder)]
    nodes = [each for each in found + inside if is_node(each.rpartition("/")[2])]
    return sorted(nodes, key=lambda node: node[-10:])


def ours_standing(peek: Any, path: str) -> list[str]:
    """Those of them that Interlock has made."""
    return [each for each in standing(peek, path) if is_ours(each.rpartition("/")[2])]


def children(peek: Any, path: str) -> list[str]:
    try:
        return list(peek.get_children(path))
    except NoNodeError:
        return []
