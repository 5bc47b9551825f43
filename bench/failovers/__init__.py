"""What failovers do to locks: how many are lost, and how many have two believers.

Run `python -m bench.failovers` for fifty failovers, about a quarter of an hour; with
`--failovers 4 --locks 8` for a look.  It is not part of `python -m bench`: it measures no speed.

Method.  A primary, two replicas and three Sentinels are real servers on loopback (`faults.py`:
what is done to them).  Each contestant is a process with several clients of one library
(`contestant.py`, `bench/programs/RedissonFailovers.java`): the first takes names before and at the
moment of the fault, the second waits for the same names, and once another server is promoted the
first and a client that has just connected want names that are still free.  Whoever gets a name
keeps it until the round ends.  All contestants are there at each failover.

One observer, with the one clock that all processes of a machine share (CLOCK_MONOTONIC), reads the
records of all names at the new primary, again and again (`rounds.py`), and judges afterwards what
each contestant says it believed, and for how long (`judging.py`).
"""
