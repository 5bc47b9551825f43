"""ZooKeeper on paper, and clients that run the real recipes on it in every interleaving.

    explore(Scenario(plans=(Plan(), Plan()), faults=1))     # every way with so many detours
    wander(scenario, numbers)                               # one way, made out of any numbers
    replay(scenario, violation.choices)                     # the same again, told step by step

An `Ensemble` has a leader, a log and sessions; each client has a connection to a server of its
own, which may lag behind.  What a client asks is sent, executed, and its answer heard, in three
steps, in the order of the connection; between any two of them others may come, or something may
go wrong (see `Fault`).  Every client runs `acquire`, `release` and the keeper on the product's
stores.  `Watch` says what must never happen.
"""
