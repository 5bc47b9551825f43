"""Redis Cluster: many nodes, of which each serves some of 16384 slots.

slots.py       pure: the slot of a key, and how names lie in slots
slot_map.py    which node serves which slot, as far as is known
routing.py     what becomes of a call that a node refused: the steps that both links run
link.py, aio.py   the two links: one link of a single server for each node
by_node.py     blocking calls to several nodes at once
nodes.py       how each node is reached: by a URL, or as a client of the user's does
doctor.py      what makes these locks unsafe
directory.py   the names of all nodes
backend.py, url.py   as in every backend
"""

from .backend import ClusterBackend as ClusterBackend
from .nodes import ClientNodes as ClientNodes
from .nodes import UrlNodes as UrlNodes
from .url import read_cluster_url as read_cluster_url
