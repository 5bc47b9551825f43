"""ZooKeeper, in Curator's layout, so that Java shares its locks."""

from .backend import ZkBackend as ZkBackend
from .url import OPTIONS as OPTIONS
from .url import ZkSettings as ZkSettings
from .url import read_url as read_url
from .url import with_options as with_options
