"""Redis and Valkey, in Redisson's layout; by way of redis-py, which opens the connections."""

from .connections import BorrowedDoor as BorrowedDoor
from .connections import SettingsDoor as SettingsDoor
from .settings import read_url as read_url
from .store import RedisBackend as RedisBackend
