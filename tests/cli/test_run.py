"""`interlock run`: the lock, the command, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import interlock
from interlock.cli.main import main

from .shell import Shell, ended, hear, is_gone

STORES = ["sqlite", "redis", "zookeeper"]


@pytest.mark.parametrize("backend", STORES)
def test_the_command_has_the_lock_and_its_code_is_ours(
    backend: str, url_of: Callable[[str], str], shell_of: Callable[[str], Shell]
) -> None:
    url = url_of(backend)
    script = "echo $INTERLOCK_NAME $INTERLOCK_TOKEN $INTERLOCK_OWNER; read word; exit 7"
    with interlock.connect(url) as client:
        process = shell_of(url).start("run", "orders:42", "--", "sh", "-c", script, stdin=-1)

        name, token, owner = hear(process).split()
        info = client.inspect("orders:42")

        assert info is not None and info.kind == "lock"
        assert (name, owner) == ("orders:42", info.holders[0].owner)
        assert client.lock("orders:42").try_acquire() is None
        process.communicate("go\n")
        assert process.returncode == 7
        with client.lock("orders:42", timeout=0) as hold:
            assert hold.token > int(token)


def test_holder_is_shown_with_its_command(shell: Shell, client: interlock.Client) -> None:
    process = shell.start("run", "a", "--", "sh", "-c", "echo ready; read word", stdin=-1)
    hear(process)

    info = client.inspect("a")

    assert info is not None
    assert str(info.holders[0]).endswith(f":{process.pid} (interlock run sh)")


def test_a_signal_that_ends_the_command_is_128_and_its_number(shell: Shell) -> None:
    assert shell.run("run", "a", "--", "sh", "-c", "kill -USR1 $$").returncode == 128 + 10


def test_a_busy_lock_is_75_or_what_was_said(
    shell: Shell, client: interlock.Client, url: str
) -> None:
    with client.lock("a"):
        busy = shell.run("run", "-n", "a", "--", "echo", "never")
        assert (busy.returncode, busy.stdout) == (75, "")
        assert busy.stderr.startswith("interlock: 'a' is busy, held by ")
        assert busy.stderr.count("\n") == 1

        late = shell.run("run", "-q", "-w", "50ms", "-E", "3", "a", "--", "echo", "never")
        assert (late.returncode, late.stdout, late.stderr) == (3, "", "")


def test_a_store_out_of_reach_is_69_in_one_sentence(shell: Shell) -> None:
    failed = shell.run("run", "-n", "--url", "redis://:canary@127.0.0.1:1", "a", "--", "true")

    assert failed.returncode == 69
    assert "127.0.0.1:1" in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert "canary" not in failed.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Missing argument 'NAME'"),
        (["a"], "a COMMAND is missing"),
        (["a", "--"], "a COMMAND is missing"),
        (["a", "-n", "--", "true"], "options such as -n go before NAME"),
        (["-n", "-w", "1", "a", "--", "true"], "-n and -w contradict each other"),
        (["-s", "-N", "2", "a", "--", "true"], "-N is a semaphore"),
        (["-N", "0", "a", "--", "true"], "0 is not in the range"),
        (["-l", "1x", "a", "--", "true"], 'must look like "10s"'),
        (["-l", "10s", "-k", "6s", "a", "--", "true"], "at most half of the lease"),
        (["--max-hold", "1", "--at-least-for", "2", "a", "--", "true"], "must not be longer"),
        (["-E", "256", "a", "--", "true"], "256 is not in the range"),
        (["--on-lost", "cry", "a", "--", "true"], "is not one of 'term', 'ignore'"),
        (["--url", "memory://", "a", "--", "true"], "memory:// is one process's own"),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_wrong_line_is_64_in_one_sentence(
    words: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words]) == 64
    said = capfd.readouterr().err

    assert sentence in said
    assert said.startswith("interlock: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-l", "1ms", "a"], "lease must be between 50 ms and 30 days"),
        (["--url", "etcd://host", "a"], "is not a store that Interlock knows"),
    ],
)
def test_what_the_library_refuses_is_64_in_one_sentence(
    words: list[str], sentence: str, shell: Shell
) -> None:
    refused = shell.run("run", *words, "--", "true")

    assert refused.returncode == 64
    assert refused.stderr.startswith("interlock: ")
    assert sentence in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.usefixtures("here")
def test_a_command_that_is_not_there_is_127_before_anything_is_waited_for(
    client: interlock.Client, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with client.lock("a"):
        assert main(["run", "a", "--", "no-such-command"]) == 127
        assert main(["run", "a", "--", str(tmp_path)]) == 126
    assert "command 'no-such-command' was not found" in capfd.readouterr().err


def test_commands_that_fail_to_start_are_126_and_127_as_for_env(
    shell: Shell, client: interlock.Client, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    for text, mode, code in (
        ("#!/no/such/interpreter\n", 0o755, 127),
        ("exit 9", 0o644, 126),
        ("exit 9", 0o755, 9),  # no interpreter is named, so it is the shell's
    ):
        script.write_text(text)
        script.chmod(mode)
        assert shell.run("run", "a", "--", str(script)).returncode == code, text
        assert client.inspect("a") is None


def test_standard_input_and_open_files_are_the_commands(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "three").write_text("from three\n")
    with (tmp_path / "three").open() as file:
        result = shell.run(
            "run", "a", "--", "sh", "-c", f"cat; cat /dev/fd/{file.fileno()}",
            input="from zero\n",
            pass_fds=(file.fileno(),),
        )  # fmt: skip

    assert (result.returncode, result.stdout) == (0, "from zero\nfrom three\n")


def test_shared_and_exclusive_are_a_read_write_lock(
    shell: Shell, client: interlock.Client
) -> None:
    with client.rwlock("a").read():
        assert shell.run("run", "-n", "-s", "a", "--", "true").returncode == 0
        assert shell.run("run", "-n", "-x", "a", "--", "true").returncode == 75
        plain = shell.run("run", "-n", "a", "--", "true")
        assert plain.returncode == 78
        assert "rwlock" in plain.stderr


def test_permits_are_a_semaphore(shell: Shell, client: interlock.Client) -> None:
    with client.semaphore("a", permits=2):
        assert shell.run("run", "-n", "-N", "2", "a", "--", "true").returncode == 0
        with client.semaphore("a", permits=2):
            assert shell.run("run", "-n", "-N", "2", "a", "--", "true").returncode == 75


def test_a_run_inside_of_a_run_of_the_same_name_passes_through(shell: Shell) -> None:
    program = f"{sys.executable} -m interlock run -n"
    script = f"{program} b -- {program} a -- sh -c 'echo $INTERLOCK_NAME; exit 4'"

    result = shell.run("run", "a", "--", "sh", "-c", script)

    assert (result.returncode, result.stdout, result.stderr) == (4, "b\n", "")


def test_a_run_inside_finds_the_store_of_the_run_around_it(
    shell_of: Callable[[str], Shell], url: str
) -> None:
    inside = [sys.executable, "-m", "interlock", "run", "-n", "a", "--", "true"]
    shell = shell_of("redis://127.0.0.1:1")

    assert shell.run("--url", url, "run", "a", "--", *inside).returncode == 0


def test_a_writer_inside_of_a_reader_is_refused(shell: Shell) -> None:
    inside = [sys.executable, "-m", "interlock", "run", "-x", "a", "--", "true"]

    result = shell.run("run", "-s", "a", "--", *inside)

    assert result.returncode == 64
    assert "holds 'a' shared" in result.stderr


def test_an_environment_that_is_out_of_date_opens_nothing(
    shell: Shell, client: interlock.Client
) -> None:
    with client.lock("a") as hold:
        owner = hold.owner
    with client.lock("a"):
        assert (
            shell.run("run", "-n", "a", "--", "true", env={"INTERLOCK_HELD": owner}).returncode
            == 75
        )


def test_the_lock_is_kept_for_as_long_as_was_said(shell: Shell, client: interlock.Client) -> None:
    process = shell.start("run", "--at-least-for", "500ms", "a", "--", "sh", "-c", "echo $$")
    pid = int(hear(process))

    with client.lock("a", timeout=20):
        code, _ = ended(process)

    assert code == 0
    assert is_gone(pid)
