"""Locks inside one process, for tests and small programs: `memory://` or `memory://name`."""

from .store import MemoryBackend as MemoryBackend
