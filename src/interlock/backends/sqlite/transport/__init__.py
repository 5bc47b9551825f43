"""What only SQLite needs: the file, its connections and transactions, and who hears of a commit.

opening.py  making.py   how a lock file is recognised, opened and made
connections.py          connections that a fork can find and close
database.py             one open file: transactions over `records.py` and `statements.py`
shared_file.py          what the clients of one process share, and what happens at a fork
retry.py  runner.py     a call again while the file is busy; the calls of an event loop
watch.py                how waiters hear of what another process has handed to them
clock.py  rights.py  default_file.py   the machine's clock; permissions; which users share a file
"""
