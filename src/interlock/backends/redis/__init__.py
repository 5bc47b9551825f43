"""Redis and Valkey, in Redisson's layout; by way of redis-py, which opens the connections."""

from .backend import RedisBackend as RedisBackend
from .restart_guard import RestartGuard as RestartGuard
from .transport.borrowed import factory_of_client as factory_of_client
from .transport.borrowed import is_cluster as is_cluster
from .transport.factories import UrlFactory as UrlFactory
from .transport.factories import factory_of as factory_of
from .url import LONGEST_LEASE as LONGEST_LEASE
from .url import check_replicas as check_replicas
from .url import guarding as guarding
from .url import read_url as read_url
from .url import with_options as with_options
