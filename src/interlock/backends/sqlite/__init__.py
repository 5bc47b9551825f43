"""Locks in one SQLite file, for the processes of one machine that share it: the default."""

from .backend import SqliteBackend as SqliteBackend
from .url import path_of as path_of
