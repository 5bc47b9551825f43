"""A backend for Interlock that keeps locks in a JSON file: `jsonfile:///path/locks.json`."""

import fcntl
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from interlock.drive import now
from interlock.errors import StoreError, StoreMisconfigured, StoreUnavailable, UsageError
from interlock.links import CallBackend
from interlock.model import TOMBSTONE, Busy, Holder, LockInfo
from interlock.spi import BaseDirectory, BaseLockStore
from interlock.steps import Call, Steps, call


class Records(dict[str, dict[str, Any]]):
    """What the file says, without what has ended.  Each method is one operation of the store."""

    def __init__(self, text: str, at: float) -> None:
        parts, self.at, self.freed = json.loads(text), at, ""
        for part in ("held", "waiting", "withdrawn", "clients", "tokens"):
            entries = parts.get(part, {}).items()
            self[part] = {key: entry for key, entry in entries if entry["until"] > at}

    def held(self, name: str, kind: str) -> dict[str, Any]:
        held: dict[str, Any] = self["held"].get(name, {})
        if held and held["kind"] != kind:
            raise StoreMisconfigured(f"{name!r} is a {held['kind']}, so it cannot be a {kind}")
        return held

    def queue(self, name: str) -> list[str]:
        return [owner for owner, entry in self["waiting"].items() if entry["name"] == name]

    def attempt(self, name: str, kind: str, owner: str, lease: float, waits: bool) -> int | Busy:
        if owner in self["withdrawn"]:
            raise StoreError(f"this acquisition of {name!r} was withdrawn; ask again")
        held, queue = self.held(name, kind), self.queue(name)
        first = held["owner"] if held else queue[0] if queue else owner
        if first != owner:
            if waits:  # it keeps its place, and is dropped when it has not asked for 2 s
                self["waiting"][owner] = {"name": name, "until": self.at + 2.0}
            return Busy(first, held["until"] - self.at if held else None, silent=True)
        self["waiting"].pop(owner, None)
        token = 1 + max(self["tokens"].get("last", {"token": 0})["token"], time.time_ns() // 1000)
        self["tokens"]["last"] = {"token": token, "until": float("inf")}
        grant = {"kind": kind, "owner": owner, "token": token}
        self["held"][name] = {**grant, "until": self.at + lease}
        return int(token)

    def release(self, name: str, owner: str) -> bool:
        if mine := bool(self["held"].get(name, {}).get("owner") == owner):
            del self["held"][name]
            self.freed = name
        return mine

    def withdraw(self, name: str, owner: str, reason: str) -> bool:
        reason = reason or self.reason(name, owner)
        self["withdrawn"][owner] = {"reason": reason, "until": self.at + TOMBSTONE}
        self["waiting"].pop(owner, None)
        return self.release(name, owner)

    def reason(self, name: str, owner: str) -> str:
        return str(self["withdrawn"].get(owner, {}).get("reason", ""))

    def renew(self, lease: float, holds: Sequence[tuple[str, str]]) -> list[bool]:
        mine = [self["held"].get(name, {}).get("owner") == owner for name, owner in holds]
        for (name, _), is_mine in zip(holds, mine, strict=True):
            self["held"].get(name, {}).update({"until": self.at + lease} if is_mine else {})
        return mine

    def look(self, name: str, kind: str) -> LockInfo | None:
        if not (held := self.held(name, kind)):
            return None
        owner, left = held["owner"], held["until"] - self.at
        known = self["clients"].get(owner.rpartition(":")[0], {}).get("known", {})
        holder = Holder(owner, **known, token=held["token"], expires_in=left)
        return LockInfo(name, kind, (holder,), left, len(self.queue(name)))

    def introduce(self, client: Holder) -> float:
        known = {"host": client.host, "pid": client.pid, "program": client.program}
        self["clients"][client.owner] = {"known": known, "until": self.at + 7200}
        return 3600.0


class FileLocks(BaseLockStore):
    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[Any]:
        return call(Records.attempt, (name,), (self.kind, owner, lease, waits), until)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return call(Records.release, (name,), (owner,), until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return call(Records.withdraw, (name,), (owner, reason), until)

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        return call(Records.reason, (name,), (owner,), until)

    def renew(self, holds: Sequence[tuple[str, str]], lease: float, until: float) -> Steps[Any]:
        return call(Records.renew, (), (lease, holds), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        return call(Records.look, (name,), (self.kind,), until)


class FileDirectory(BaseDirectory):
    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        return call(Records.introduce, (), (holder,), until)

    def names(self, until: float) -> Steps[list[tuple[str, str]]]:
        return call(lambda r: [(n, h["kind"]) for n, h in r["held"].items()], (), (), until)


class FileBackend(CallBackend):
    def __init__(self, url: str, patience: float = 5.0) -> None:
        super().__init__(url)
        if not url.startswith("jsonfile:///"):
            raise UsageError("write jsonfile:// and an absolute path: jsonfile:///run/locks.json")
        self._path, self._patience = Path(unquote(url.removeprefix("jsonfile://"))), patience
        self.locks, self.mutexes = FileLocks("lock"), FileLocks("mutex")
        self.directory = FileDirectory(self.label)

    def perform(self, request: Call) -> Any:
        until = min(request.until, now() + self._patience)
        with Path(f"{self._path}.lock").open("a") as file:
            while now() < until:
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    try:
                        return self._change(request)
                    finally:  # closing is not enough: a forked child may have the file open, too
                        fcntl.flock(file, fcntl.LOCK_UN)
                time.sleep(0.001)
        raise StoreUnavailable(f"{self.label} is in use by other processes", self.label)

    def _change(self, request: Call) -> Any:
        text = self._path.read_text() if self._path.exists() else "{}"
        records = Records(text, now())
        answer = request.operation(records, *request.keys, *request.args)
        if (changed := json.dumps(records)) != text:
            Path(f"{self._path}.new").write_text(changed)
            Path(f"{self._path}.new").replace(self._path)  # the whole of it or nothing
        for waiter in records.queue(records.freed)[:1]:
            self.wake((records.freed, waiter))
        return answer
