"""Redlock: one lock over several Redis servers that know nothing of each other.

decide.py       pure: what the answers of the nodes mean together; begin here
votes.py        pure: what the nodes have answered to an attempt
proposal.py     which token would suit all nodes
locks.py        locks and mutexes as steps: see `spi.LockStore`
rwlocks.py      read/write locks: see `spi.RwStore`
directory.py    names and clients, over all nodes
url.py          from a URL to the settings of each node
backend.py      the backend: its stores, its links, its label
link.py, aio.py the two links
parting.py      how the blocking link closes
doctor.py       what makes these locks unsafe
meeting.py      which nodes a link has met
"""

from .backend import RedlockBackend as RedlockBackend
from .url import read_url as read_url
