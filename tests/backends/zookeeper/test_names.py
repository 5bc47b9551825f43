"""Names, paths and node names, and who is before whom.  No server takes part."""

from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.backends.zookeeper import layout
from interlock.session.identity import new_identity

#: What a server accepts as one part of a path.
PART = re.compile("[^/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]+")

NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
SEVERAL = NAME | st.lists(NAME | st.sampled_from(["", ".", "..", "%", "zookeeper"])).map("/".join)
OTHER = str(uuid.UUID("0aa1f2c3-5d6e-4f70-8a91-b2c3d4e5f601"))


@given(SEVERAL.filter(bool))
def test_every_text_has_a_path_that_a_server_accepts(name: str) -> None:
    path = layout.path_of(name)

    parts = path.split("/")
    assert parts.pop(0) == ""
    assert all(PART.fullmatch(part) and part not in (".", "..") for part in parts)
    assert parts[0] != "zookeeper"


@given(SEVERAL.filter(bool))
def test_a_path_tells_its_name(name: str) -> None:
    assert layout.name_of(layout.path_of(name)) == name.removeprefix("/")


def test_javas_path_is_the_name_with_or_without_its_slash() -> None:
    assert layout.path_of("locks/orders") == layout.path_of("/locks/orders") == "/locks/orders"


@pytest.mark.parametrize("number", [1, 11, 7 * 10**9, 2**44])
def test_a_node_tells_its_owner(number: int) -> None:
    owner = f"{new_identity()}:{number}"
    node = f"{layout.prefix_of(owner)}{layout.LOCK}0000000012"

    assert layout.owner_of(node) == owner
    assert layout.is_ours(node)
    assert layout.belongs_to(node, owner)
    assert not layout.belongs_to(node, f"{owner}1")


def test_a_node_of_java_is_known_by_its_uuid_and_any_other_by_its_name() -> None:
    java = f"_c_{OTHER}-lock-0000000003"

    assert layout.owner_of(java) == OTHER
    assert not layout.is_ours(java)
    assert layout.belongs_to(java, OTHER)
    assert layout.owner_of("0000000003") == "0000000003"
    assert layout.belongs_to("9f3-lock-0000000001", "9f3-lock-0000000001")


def nodes(*numbers: int, mark: str = "lock-") -> list[str]:
    return [f"_c_{uuid.uuid4()}-{mark}{number:010d}" for number in numbers]


@given(st.permutations([4, 7, 11, 200, 2**31 - 1]))
def test_the_nearest_before_us_has_the_next_smaller_number(order: list[int]) -> None:
    children = nodes(*order)
    ranked = layout.ranked(children, layout.MUTEX_CUTS)

    assert [layout.before_alone(children, each) for each in ranked] == [None, *ranked[:-1]]


def test_numbers_that_have_wrapped_jump_the_queue_as_they_do_in_java() -> None:
    seventh, wrapped = nodes(7)[0], [f"_c_{OTHER}-lock--{each}" for each in (2**31, 2**31 - 1)]

    assert layout.ranked([seventh, *wrapped], layout.MUTEX_CUTS) == [*reversed(wrapped), seventh]


def test_a_reader_waits_for_the_nearest_writer_before_it() -> None:
    first, reader, second, mine = (
        *nodes(1, mark="__WRIT__"),
        *nodes(2, mark="__READ__"),
        *nodes(3, mark="__WRIT__"),
        *nodes(4, mark="__READ__"),
    )
    children = [mine, second, first, reader]

    assert layout.before_reader(children, mine) == second
    assert layout.before_reader(children, reader) == first
    assert layout.before_writer(children, second) == reader
    assert layout.before_writer(children, first) is None


def test_a_writer_that_reads_on_has_nobody_before_it() -> None:
    (writer,) = nodes(5, mark="__WRIT__")
    reader = writer.replace("__WRIT__", "__READ__")
    (behind,) = nodes(6, mark="__WRIT__")

    assert layout.before_reader([writer, reader, behind], reader) is None
    assert layout.before_writer([reader, behind], behind) == reader
