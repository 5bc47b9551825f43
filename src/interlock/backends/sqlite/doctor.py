"""What makes locks in a file unsafe: a file system that other machines see as well."""

from __future__ import annotations

import re
from pathlib import Path

from ...model import Finding

#: Where Linux says what is mounted; other systems have no such place.
MOUNTS = Path("/proc/self/mountinfo")

#: File systems that several machines share, as Linux calls them.
SHARED = re.compile(
    r"(nfs4?|cifs|smb3?|smbfs|9p|afs|ceph|glusterfs|lustre|gfs2?|ocfs2|beegfs|gpfs|virtiofs|vboxsf"
    r"|fuse\.(sshfs|glusterfs|ceph|s3fs|rclone|gcsfuse|davfs2?))"
)

_OCTAL = re.compile(r"\\([0-7]{3})")


def examined(path: str, label: str) -> list[Finding]:
    """What is found of the file system; nothing where the system does not say which it is."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    kind = file_system(str(Path(path).parent.resolve()), mounts)
    return [_shared(label, kind)] if SHARED.fullmatch(kind) else []


def file_system(folder: str, mounts: str) -> str:
    """The kind of file system that a folder is on: see proc(5) of mountinfo.  Pure."""
    kind, length = "", -1
    for line in mounts.splitlines():
        place, _, rest = line.partition(" - ")
        words = place.split(" ")
        if len(words) < 5 or not rest:
            continue
        point = _OCTAL.sub(lambda found: chr(int(found.group(1), 8)), words[4])
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= length:  # the last one covers those before
            kind, length = rest.split(" ", 1)[0], len(point)
    return kind


def _shared(label: str, kind: str) -> Finding:
    message = (
        f"{label} is on a file system that several machines can share ({kind}), and its locks are "
        "for the processes of one machine"
    )
    advice = "use a file on a local disk, or a server (redis://, zk://)"
    return Finding("shared-filesystem", "serious", label, message, advice)
