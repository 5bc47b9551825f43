"""Locks in one SQLite file: the embedded default, for the processes of one machine."""

from .address import path_of as path_of
from .store import SqliteBackend as SqliteBackend
