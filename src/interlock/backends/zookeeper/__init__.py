"""ZooKeeper, in Curator's layout, so that Java shares its locks."""

from .settings import Settings as Settings
from .settings import read_url as read_url
from .store import ZkBackend as ZkBackend
