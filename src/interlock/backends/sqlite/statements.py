"""The SQL of the shelf: see `schema.sql` for the tables and `records.py` for its use."""

from __future__ import annotations

#: Rows of one shape: place, owner, kind, weight, until_ms, token.  The first is the world, with
#: whether an owner is buried for its weight; then comes what a name is for good, then who waits
#: first, then a row for each holder, whose places count from one.  SQLite promises no order.
FETCH = """
SELECT -2, owner, NULL, EXISTS (SELECT 1 FROM tombs WHERE owner = ? AND until_ms > ?), NULL, token
FROM records WHERE name = ''
UNION ALL SELECT -1, NULL, kind, number, NULL, NULL FROM facts WHERE name = ?
UNION ALL SELECT 0, owner, NULL, weight, NULL, NULL FROM (
    SELECT owner, weight FROM queue WHERE name = ? AND alive_ms > ? ORDER BY place LIMIT 1
)
UNION ALL SELECT place, owner, kind, weight, until_ms, token FROM records WHERE name = ?
"""
HEAD_PLACE = 0

# --- who holds -----------------------------------------------------------------------------

PUT = """
INSERT INTO records (name, kind, owner, weight, until_ms, place, token)
VALUES (?, ?, ?, ?, ?, ?, 0)
ON CONFLICT (name, owner) DO UPDATE
SET kind = excluded.kind, weight = excluded.weight, until_ms = excluded.until_ms
"""
DROP = "DELETE FROM records WHERE name = ? AND owner = ?"
FORGET_LAPSED = "DELETE FROM records WHERE name = ? AND until_ms <= ?"
LAST_TOKEN = "UPDATE records SET token = ? WHERE name = ''"
TOKEN = "UPDATE records SET token = ? WHERE name = ? AND owner = ?"
NAMES = """
SELECT name FROM facts UNION SELECT name FROM records WHERE name != '' AND until_ms > ?
"""

# --- what a name is for good ---------------------------------------------------------------

SET_FACT = "INSERT OR REPLACE INTO facts (name, kind, number) VALUES (?, ?, ?)"
DROP_FACT = "DELETE FROM facts WHERE name = ?"

# --- who waits -----------------------------------------------------------------------------

HEAD = "SELECT owner, weight FROM queue WHERE name = ? AND alive_ms > ? ORDER BY place LIMIT 1"
REFRESH = "UPDATE queue SET alive_ms = ? WHERE name = ? AND owner = ?"
ENQUEUE = """
INSERT INTO queue (name, place, owner, weight, alive_ms)
SELECT ?, coalesce(max(place), 0) + 1, ?, ?, ? FROM queue WHERE name = ?
"""
# Whoever leaves the queue takes along those that died in it.
DEQUEUE = "DELETE FROM queue WHERE name = ? AND (owner = ? OR alive_ms <= ?)"
WAITING = "SELECT count(*) FROM queue WHERE name = ? AND alive_ms > ?"

#: How a waiter stands: how many hold, whether it does, the newest token, what the name is
#: for good, and how many stand before it; those who wait for a latch do not hinder each other.
GLANCE = """
SELECT count(*), max(owner = ?), max(token),
    (SELECT number FROM facts WHERE name = ?), (
    SELECT count(*) FROM queue WHERE name = ? AND weight > 0 AND place < (
        SELECT place FROM queue WHERE name = ? AND owner = ?
    )
)
FROM records WHERE name = ? AND until_ms > ?
"""

# --- who is gone, and who is who -----------------------------------------------------------

# A second withdrawal without a reason does not wipe out the reason for the first.
BURY = """
INSERT INTO tombs (owner, until_ms, reason) VALUES (?, ?, ?)
ON CONFLICT (owner) DO UPDATE SET until_ms = excluded.until_ms,
    reason = CASE excluded.reason WHEN '' THEN reason ELSE excluded.reason END
"""
EPITAPH = "SELECT reason FROM tombs WHERE owner = ? AND until_ms > ?"
DESCRIBE = "SELECT host, pid, program FROM clients WHERE identity = ?"
INTRODUCE = """
INSERT OR REPLACE INTO clients (identity, host, pid, program, started, seen_ms)
VALUES (?, ?, ?, ?, ?, ?)
"""
SWEEP_TOMBS = "DELETE FROM tombs WHERE until_ms <= ?"
SWEEP = (
    "DELETE FROM records WHERE name != '' AND until_ms <= ?",
    "DELETE FROM queue WHERE alive_ms <= ?",
    SWEEP_TOMBS,
)
SWEEP_CLIENTS = "DELETE FROM clients WHERE seen_ms <= ?"
