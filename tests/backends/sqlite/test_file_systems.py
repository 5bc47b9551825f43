"""A file that other machines see as well is told, when a user asks and once in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.backends.sqlite import doctor
from interlock.backends.sqlite.doctor import SHARED, file_system

from ...support.eventually import eventually
from ...support.worlds import World

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw,nosuid - proc proc rw
30 22 0:44 /export /mnt/data rw - nfs4 server:/export rw,vers=4.2
31 30 8:2 / /mnt/data/local rw - xfs /dev/sdb1 rw
32 22 0:45 / /mnt/with\040space rw master:1 propagate_from:2 - fuse.sshfs me@host: rw
33 22 0:46 / /srv rw - ext4 /dev/sdc1 rw
34 33 0:47 / /srv rw - cifs //host/share rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/var/lib", "ext4"),
        ("/mnt/data", "nfs4"),
        ("/mnt/data/app", "nfs4"),
        ("/mnt/database", "ext4"),
        ("/mnt/data/local/app", "xfs"),
        ("/mnt/with space/app", "fuse.sshfs"),
        ("/srv/app", "cifs"),
    ],
)
def test_the_file_system_of_a_folder_is_the_one_mounted_nearest_and_last(
    folder: str, kind: str
) -> None:
    assert file_system(folder, MOUNTS) == kind


@pytest.mark.parametrize("text", ["", "nonsense\n\n", "1 2 3"])
def test_a_system_that_does_not_say_is_not_guessed(text: str) -> None:
    assert file_system("/var/lib", text) == ""


def test_local_file_systems_are_not_shared() -> None:
    local = ("ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "f2fs", "fuse.ntfs-3g", "")

    assert not any(SHARED.fullmatch(kind) for kind in local)


def test_a_local_file_gives_no_reason_to_speak(world: World, url: str) -> None:
    assert world.do(world.connect(url).doctor) == ()


def test_a_shared_file_system_is_told_and_logged_once(
    world: World,
    url: str,
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"{MOUNTS}40 22 0:50 / {path.parent.resolve()} rw - nfs4 server:/x rw\n")
    monkeypatch.setattr(doctor, "MOUNTS", mounts)
    client = world.connect(url)
    (finding,) = world.do(client.doctor)
    hold = world.do(client.lock("a").acquire)
    eventually(lambda: client._session._checkup._made)
    world.do(hold.release)
    lines = [line.getMessage() for line in caplog.records if line.name == "interlock.connect"]

    assert (finding.code, finding.severity) == ("shared-filesystem", "serious")
    assert "(nfs4)" in finding.message
    assert str(path) in finding.node
    assert lines == [str(finding)]
