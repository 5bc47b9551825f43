"""Real ZooKeeper servers for tests, alone or several together, ended by their pid.

    with ZooKeeperServer() as server:
        client = interlock.connect(server.url("shop"))

    with Ensemble(3) as ensemble:
        ensemble.leader().kill()

They are Java programs: Debian's package `zookeeper` brings the jar and a Java to run it.
"""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self, TypedDict, TypeVar, Unpack

from .pausing import pause
from .servers import free_port

T = TypeVar("T")

_JARS = tuple(Path("/usr/share/java", jar) for jar in ("zookeeper.jar", "slf4j-simple.jar"))

#: A small and quick Java; the server keeps no promise against a power cut, and takes little disk.
_JAVA = (
    *("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=256"),
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)

#: How long a server may take to serve; usually it takes a second, and on a busy machine many.
_PATIENCE = 60.0


class NotStarted(RuntimeError):
    """A server ended before it served: most often somebody else has its port."""


class Options(TypedDict, total=False):
    """How a server differs from the others."""

    #: The server's unit of time: sessions last at least two ticks, and end on a tick.
    tick_ms: int
    max_session_ms: int
    #: Java's system properties, such as `{"znode.container.checkIntervalMs": 500}`.
    system: Mapping[str, object]
    #: More lines for its configuration file.
    settings: Mapping[str, object]


class ZooKeeperServer:
    """A ZooKeeper of our own, with its data in a temporary folder.

    With a `number` it is one of several, and is launched without waiting for the others.
    """

    def __init__(self, number: int = 0, port: int = 0, **options: Unpack[Options]) -> None:
        self.port = port or free_port()
        self.options = options
        self.folder = Path(tempfile.mkdtemp(prefix="interlock-zookeeper-"))
        self._process: subprocess.Popen[bytes] | None = None
        with ExitStack() as failing:
            failing.callback(self.close)
            self._begin(number)
            failing.pop_all()

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "") -> str:
        return f"zk://{self.hosts}/{path.lstrip('/')}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # --- life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it (again, on the same port, with the data it left), and wait until it serves."""
        try:
            self._start_once()
        except NotStarted:
            # Somebody else's connection may have had the port for a moment.
            self._start_once()

    def launch(self) -> None:
        """Start it without waiting until it serves: one of several has to find the others."""
        assert not self.running
        command = self._command_line()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def await_serving(self) -> None:
        awaited(self._serves, _PATIENCE, lambda: f"ZooKeeper did not start: {self.told()}")

    def stop(self) -> None:
        """End it in good order."""
        self.resume()
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Stop it from running; its sockets stay open."""
        pause(self.pid)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its data."""
        if self.running:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()

    # --- what it says --------------------------------------------------------------------------

    def mode(self) -> str | None:
        """`standalone`, `leader` or `follower`; nothing while it does not serve."""
        if not self.running:
            return None
        found = re.search(r"^Mode: (\w+)", self.ask("srvr"), re.MULTILINE)
        return None if found is None else found[1]

    def ask(self, word: str, within: float = 2.0) -> str:
        """The answer to one of ZooKeeper's four-letter words; empty when there is none."""
        heard = bytearray()
        address = ("127.0.0.1", self.port)
        with suppress(OSError), socket.create_connection(address, within) as link:
            link.sendall(word.encode())
            while data := link.recv(4096):
                heard += data
        return heard.decode()

    def told(self) -> str:
        """The end of what it wrote into its log."""
        return self._log.read_text()[-2000:] if self._log.exists() else ""

    # --- inside --------------------------------------------------------------------------------

    def _begin(self, number: int) -> None:
        self._configure(number)
        if number:
            self.launch()
            return
        try:
            self._start_once()
        except NotStarted:
            self.port = free_port()
            self._configure(number)
            self._start_once()

    def _start_once(self) -> None:
        self.launch()
        self.await_serving()

    def _configure(self, number: int) -> None:
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        (data / "myid").write_text(f"{number}\n")
        lines = [f"{key}={value}\n" for key, value in self._settings(data).items()]
        (self.folder / "zoo.cfg").write_text("".join(lines))

    def _settings(self, data: Path) -> dict[str, object]:
        tick = self.options.get("tick_ms", 200)
        return {
            "tickTime": tick,
            "minSessionTimeout": 2 * tick,
            "maxSessionTimeout": self.options.get("max_session_ms", 120_000),
            "dataDir": data,
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "*",
            **self.options.get("settings", {}),
        }

    def _command_line(self) -> list[str]:
        java = shutil.which("java")
        if java is None or not all(jar.exists() for jar in _JARS):
            raise RuntimeError("ZooKeeper is not installed: apt-get install zookeeper")
        system = [f"-D{key}={value}" for key, value in self.options.get("system", {}).items()]
        program = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        classes = ":".join(map(str, _JARS))
        return [java, *_JAVA, *system, "-cp", classes, program, str(self.folder / "zoo.cfg")]

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    def _serves(self) -> bool:
        if not self.running:
            raise NotStarted(f"ZooKeeper ended at once: {self.told()}")
        # A question that comes while it is starting may stay without an answer for ever.
        answer = self.ask("srvr", within=0.3)
        # Whoever answers on this port may be another server: ours knows its own folder.
        return "Mode: " in answer and str(self.folder) in self.ask("conf")

    def _signal(self, what: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(what)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(timeout=30)


def awaited(question: Callable[[], T | None], within: float, complaint: Callable[[], str]) -> T:
    """The first answer that is true, asking again and again."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if answer := question():
            return answer
        time.sleep(0.01)
    raise TimeoutError(complaint())
