"""What only Redis needs: connections opened by redis-py, and what is spoken on them.

factories.py    which connections to open: by a URL, or like those of a redis-py client
handshakes.py   opening them within one limit
openings.py     every private attribute of redis-py
weak_registry.py   all that are open, for those who must end them
protocol.py     packing calls, and reading replies
connection.py   one blocking connection
subscriber.py   the connection on which a blocking client hears of wakes
mux.py          one asyncio connection that every task shares
lazy.py         the same, opened when it is needed and again when it was lost
"""
