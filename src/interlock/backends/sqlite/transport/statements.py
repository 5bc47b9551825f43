"""The SQL of the records: see `schema.sql` for the tables and `records.py` for its use."""

from __future__ import annotations

#: Rows of one shape: place, owner, kind, weight, until_ms, token.  First the row of the file,
#: whose weight says whether an owner is buried; then the declaration of the name; then its first
#: waiter; then a row for each holder, whose places count from one.  SQLite promises no order.
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

# --- holders -------------------------------------------------------------------------------

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

# --- declarations --------------------------------------------------------------------------

DECLARE = "INSERT OR REPLACE INTO facts (name, kind, number) VALUES (?, ?, ?)"
UNDECLARE = "DELETE FROM facts WHERE name = ?"

# --- registers -------------------------------------------------------------------------------

#: An end that no clock reaches: what is kept for ever.
FOR_EVER = 2**53

REGISTER = "SELECT text, version FROM registers WHERE name = ? AND until_ms > ?"
SET_REGISTER = """
INSERT OR REPLACE INTO registers (name, text, version, until_ms) VALUES (?, ?, ?, ?)
"""
SWEEP_REGISTERS = "DELETE FROM registers WHERE until_ms <= ?"

# --- the queue -----------------------------------------------------------------------------

HEAD = "SELECT owner, weight FROM queue WHERE name = ? AND alive_ms > ? ORDER BY place LIMIT 1"
REFRESH = "UPDATE queue SET alive_ms = ? WHERE name = ? AND owner = ?"
ENQUEUE = """
INSERT INTO queue (name, place, owner, weight, alive_ms)
SELECT ?, coalesce(max(place), 0) + 1, ?, ?, ? FROM queue WHERE name = ?
"""
# An owner that leaves the queue takes along those that died in it.
DEQUEUE = "DELETE FROM queue WHERE name = ? AND (owner = ? OR alive_ms <= ?)"
WAITING = "SELECT count(*) FROM queue WHERE name = ? AND alive_ms > ?"

#: How a waiter stands: how many owners hold, whether it does, the newest token, the declared
#: number, and how many waiters stand before it; waiters of a latch do not block each other.
GLANCE = """
SELECT count(*), max(owner = ?), max(token),
    (SELECT number FROM facts WHERE name = ?), (
    SELECT count(*) FROM queue WHERE name = ? AND weight > 0 AND place < (
        SELECT place FROM queue WHERE name = ? AND owner = ?
    )
)
FROM records WHERE name = ? AND until_ms > ?
"""

#: How a party at a barrier stands: what it does itself, how many are inside, how many are there,
#: and whether it waits for the next time.  What a party does is in its weight: `ledger.barriers`.
PARTY = """
SELECT max(CASE WHEN owner = ? THEN weight % 3 END), coalesce(sum(weight % 3 = 1), 0), count(*),
    EXISTS (SELECT 1 FROM queue WHERE name = ? AND owner = ?)
FROM records WHERE name = ? AND until_ms > ?
"""

# --- tombstones and clients ----------------------------------------------------------------

# A second withdrawal without a reason does not wipe out the reason for the first.
BURY = """
INSERT INTO tombs (owner, until_ms, reason) VALUES (?, ?, ?)
ON CONFLICT (owner) DO UPDATE SET until_ms = excluded.until_ms,
    reason = CASE excluded.reason WHEN '' THEN reason ELSE excluded.reason END
"""
REASON = "SELECT reason FROM tombs WHERE owner = ? AND until_ms > ?"
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
