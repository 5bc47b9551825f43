-- The format of a lock file, version 3.  Instants are whole milliseconds of the machine's
-- CLOCK_BOOTTIME; they are void as soon as the machine has booted again.

-- Holders: a row for each owner's share of a name.  Under the empty name, which no client can
-- take, stands the row of the file: its owner is the boot that all instants belong to, its token
-- the last one given out.
CREATE TABLE records (
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    weight INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    token INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;

-- What names were declared to be: semaphores of so many permits, latches that count so far.
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL
) WITHOUT ROWID;

-- Owners that wait, in order of arrival; one that has not asked for a while does not count.
CREATE TABLE queue (
    name TEXT NOT NULL,
    place INTEGER NOT NULL,
    owner TEXT NOT NULL,
    weight INTEGER NOT NULL,
    alive_ms INTEGER NOT NULL,
    PRIMARY KEY (name, place)
) WITHOUT ROWID;

-- Tombstones: owners that were withdrawn, and so are refused if they ask again; and the reason.
CREATE TABLE tombs (
    owner TEXT PRIMARY KEY,
    until_ms INTEGER NOT NULL,
    reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tombs_by_end ON tombs (until_ms);

-- Clients: what their owners are shown as.
CREATE TABLE clients (
    identity TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    program TEXT NOT NULL,
    started REAL,
    seen_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Registers: texts that outlive the processes and boots of the machine, so their ends are
-- instants of the wall clock.
CREATE TABLE registers (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    version INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX registers_by_end ON registers (until_ms);
