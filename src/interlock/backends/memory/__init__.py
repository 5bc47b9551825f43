"""Locks inside one process, for tests and small programs: `memory://` or `memory://name`."""

from .backend import MemoryBackend as MemoryBackend
from .url import name_of as name_of
