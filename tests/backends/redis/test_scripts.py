"""The Lua scripts: each says in its header what it does, and does what its header says."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import interlock.backends.redis.scripts as package
from interlock.backends.redis.scripts import script

ROOT = Path(__file__).parents[3]
FILES = sorted(Path(package.__file__).parent.glob("*.lua"))

each = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])

PARAMETER = re.compile(r"-- (KEYS|ARGV)\[(\d+|\*)\]  (\w+) {2,}\S")

#: Commands that look at everything, or answer differently each time.
FORBIDDEN = {"KEYS", "SCAN", "RANDOMKEY", "SRANDMEMBER", "SPOP", "HRANDFIELD", "FLUSHALL"}


def header(path: Path) -> list[str]:
    """The comment lines at the top."""
    lines = path.read_text().splitlines()
    return lines[: next(i for i, line in enumerate(lines) if not line.startswith("--"))]


def body(path: Path) -> list[str]:
    """The lines of code: neither blank nor comment."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("--")]


def parameters(path: Path, table: str) -> list[tuple[str, str]]:
    """The index and the word of each KEYS or ARGV in the header."""
    found = (PARAMETER.match(line) for line in header(path))
    return [(each.group(2), each.group(3)) for each in found if each and each.group(1) == table]


def test_there_are_scripts() -> None:
    assert {"lock_attempt", "mutex_attempt", "client_introduce"} <= {path.stem for path in FILES}


@each
def test_first_line_names_the_script_and_its_purpose(path: Path) -> None:
    assert re.fullmatch(rf"-- {path.stem}: [a-z].*\.", header(path)[0])


@each
def test_every_key_and_argument_is_described_once_and_in_order(path: Path) -> None:
    for table in ("KEYS", "ARGV"):
        mentioned = [line for line in header(path) if f"{table}[" in line]
        described = parameters(path, table)
        assert len(mentioned) == len(described)
        numbers = [index for index, _ in described if index != "*"]
        assert numbers == [str(i + 1) for i in range(len(numbers))]
        assert [index for index, _ in described[:-1] if index == "*"] == []


@each
def test_header_says_what_is_returned_and_that_it_may_be_repeated(path: Path) -> None:
    text = "\n".join(header(path))
    assert re.search(r"^-- returns \{\d", text, re.MULTILINE)
    assert re.search(r"^-- Safe to repeat: \w.*\.$", text.replace("\n-- ", " "), re.MULTILINE)


@each
def test_first_statements_bind_the_words_of_the_header(path: Path) -> None:
    bound: dict[str, str] = {}
    for line in body(path):
        found = re.fullmatch(r"local ([\w, ]+) = ((?:KEYS|ARGV).*)", line)
        if found is None:
            break
        words, values = found.group(1).split(", "), found.group(2).split(", ")
        bound.update(zip(words, values, strict=True))
    expected = {
        word: table if index == "*" else f"{table}[{index}]"
        for table in ("KEYS", "ARGV")
        for index, word in parameters(path, table)
    }
    assert bound == expected


@each
def test_body_never_indexes_the_tables_again(path: Path) -> None:
    rest = [line for line in body(path) if not re.match(r"local [\w, ]+ = (KEYS|ARGV)", line)]
    assert [line for line in rest if re.search(r"\b(KEYS|ARGV)\b", line)] == []


@each
def test_script_is_short_and_uses_no_forbidden_command(path: Path) -> None:
    assert len(body(path)) <= 40
    called = set(re.findall(r"call\('([A-Z]+)'", "\n".join(body(path))))
    assert called & FORBIDDEN == ({"SCAN"} if path.stem == "names_walk" else set())


@each
def test_header_is_what_python_reads(path: Path) -> None:
    read = script(path.stem)
    assert read.keys == tuple(word for _, word in parameters(path, "KEYS"))
    assert read.args == tuple(word for _, word in parameters(path, "ARGV"))
    assert read.many == any("[*]" in line for line in header(path))


@each
@pytest.mark.server
def test_sha_is_the_servers(path: Path, peek: Any) -> None:
    assert script(path.stem).sha == peek.script_load(path.read_text())


def test_wheel_ships_every_script(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    expected = {f"interlock/backends/redis/scripts/{path.name}" for path in FILES}
    assert expected <= shipped
    assert "interlock/py.typed" in shipped
