"""The servers on paper: a leader, a log, sessions, and one server for each client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interlock.backends.zookeeper.transport.requests import (
    WRITES,
    Children,
    Create,
    Exists,
    Get,
    Refusal,
    Sync,
    ZkRequest,
)

from .trees import Gone, Made, Transaction, Tree


@dataclass(slots=True)
class Session:
    """A session: when its client was last heard, and whether it has ended."""

    number: int
    #: Whose it is.
    client: int
    heard: float
    gone: bool = False
    lingers_until: float = 0.0


class Ensemble:
    """What all servers agree on."""

    def __init__(self) -> None:
        self.tree, self.log = Tree(), list[Transaction]()
        self.sessions: dict[int, Session] = {}
        self.servers: list[Server] = []

    def greet(self, client: int, now: float) -> Session:
        """Begin a session."""
        session = Session(0x100 + len(self.sessions), client, now)
        self.sessions[session.number] = session
        return session

    def commit(self, transaction: Transaction) -> None:
        self.log.append(transaction)
        self.tree.apply(transaction)
        for server in self.servers:
            if not server.lags:
                server.catch_up()

    def bury(self, session: Session) -> None:
        """Take away what a session that has ended has left."""
        self.commit(Gone(self.tree.owned_by(session.number)))

    def lingering(self) -> list[Session]:
        """Sessions that have ended, while their nodes are still there."""
        ended = [each for each in self.sessions.values() if each.gone]
        return [each for each in ended if self.tree.owned_by(each.number)]


class Server:
    """The server of one connection: it may know less than the leader, and keeps watches."""

    def __init__(self, ensemble: Ensemble, knows: int, tell: Callable[[str], None]) -> None:
        self._ensemble, self._tell = ensemble, tell
        self.lags, self.lags_until = knows < len(ensemble.log), 0.0
        self.tree = Tree()
        #: What is watched: a node (False) or its list of children (True).
        self._watches: set[tuple[str, bool]] = set()
        self.catch_up(knows)

    def catch_up(self, zxid: int | None = None) -> None:
        """Learn what the leader has decided; watches fire on the way."""
        log = self._ensemble.log
        for transaction in log[self.tree.zxid : len(log) if zxid is None else zxid]:
            self._fire(transaction)

    def stop_lagging(self) -> str:
        self.lags = False
        self.catch_up()
        return "its server catches up"

    def _fire(self, transaction: Transaction) -> None:
        fired = [each for each in self.tree.apply(transaction) if tuple(each) in self._watches]
        self._watches -= {tuple(each) for each in fired}
        for path in dict.fromkeys(each.path for each in fired):
            self._tell(path)

    def perform(self, ask: ZkRequest, session: int) -> Any:
        """Execute one question; answers as kazoo would, or with a `No`."""
        if isinstance(ask, WRITES):
            return self._write(ask, session)
        if isinstance(ask, Sync):
            self.catch_up()
            return ask.path
        return self._read(ask)

    def _write(self, ask: Any, session: int) -> Any:
        transaction = self._ensemble.tree.decided(ask, session)
        if not isinstance(transaction, Refusal):
            self._ensemble.commit(transaction)
        self.catch_up()  # a server answers when it has done it itself
        if not isinstance(transaction, Made):
            return transaction if isinstance(transaction, Refusal) else None
        made = self.tree.nodes[transaction.path]
        return (transaction.path, made.stat) if isinstance(ask, Create) else transaction.path

    def _read(self, ask: Children | Get | Exists) -> Any:
        node = self.tree.nodes.get(ask.path)
        if ask.topic is not None and (node is not None or isinstance(ask, Exists)):
            self._watches.add((ask.path, isinstance(ask, Children)))
        if node is None:
            return Refusal.MISSING
        if isinstance(ask, Children):
            return sorted(node.children, reverse=True)
        return (node.data, node.stat) if isinstance(ask, Get) else node.stat
