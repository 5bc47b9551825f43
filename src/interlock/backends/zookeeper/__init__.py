"""ZooKeeper, in Curator's layout, so that Java shares its locks."""

from .settings import OPTIONS as OPTIONS
from .settings import Settings as Settings
from .settings import with_options as with_options
from .store import ZkBackend as ZkBackend
from .urls import read_url as read_url
