"""Curator's JVMs, of two versions, and how each is started.

The newest has its libraries beside it; `debian` runs the same classes on what Debian
packages, which is of 2022 and has defects that the newest has not.
"""

from __future__ import annotations

from pathlib import Path

from .foreign import Foreign
from .peers import BUILD

HOME = BUILD / "curator"
DEBIAN = Path("/usr/share/java")

#: As for Redisson; what Curator complains of is shown when a JVM ends by itself.
JAVA = (
    *("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"),
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)


def curator(
    hosts: str, namespace: str | None = None, session_ms: int = 10_000, debian: bool = False
) -> Foreign:
    """A JVM with Curator, whose session is of so many milliseconds if the servers agree."""
    program = _debian() if debian else ["-jar", str(HOME / "curator-peer.jar")]
    return Foreign([*JAVA, *program, hosts, namespace or "-", str(session_ms)])


def _debian() -> list[str]:
    """The jars of Debian name the others that they need."""
    json = sorted((HOME / "lib").glob("jackson-*.jar"))
    libraries = [DEBIAN / "curator-recipes.jar", DEBIAN / "slf4j-simple.jar"]
    where = ":".join(str(each) for each in [HOME / "classes", *json, *libraries])
    return ["-cp", where, "interop.curator.Main"]
