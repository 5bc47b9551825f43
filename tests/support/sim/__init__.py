"""The third driver: runs the recipes through every interleaving and every lost message.

    report = explore(Scenario(plans=(Plan(), Plan()), faults=2))
    replay(scenario, violation.choices)          # the same schedule again, told step by step
    wander(scenario, numbers)                    # one schedule, made out of any numbers

Some clients follow their plans: each takes the one lock, works, and gives it back.  What a
plan wants may also be a share: to read or to write, or some of the permits of a semaphore;
and a writer may read on.  They run the real recipes (`acquire`, `release`, and `keep` where
the plan says so) against the real ledger over the records of the memory store; only the
clock and the network are simulated.  After every step the `Watch` checks that never more is
on record, or believed by clients to be held, than there is room for (so no two clients have
one lock, and nobody is beside a writer), that an owner which was given back or withdrawn
never comes back, that no promise is longer than a lease, that tokens grow, that nobody
overtakes one who waits and hears, that nobody sleeps longer than the poll cap, and, as long
as nothing has gone wrong, that none sleeps beside a lock that has room for it.  In the end
nothing may be left behind, and the whole must be obtainable within a lease.

Whatever can happen next is a choice, and the search goes through all of them, by running the
schedule anew for each.  Up to `faults` of the choices may be faults (see `Fault`).  These
reductions keep it finite; none of them hides an order in which the store executes requests:

- A step is one request: executed, answered, and its reader brought to its next request.  The
  store cannot see how long the answer took; where that matters it is a fault (SLOW,
  PAUSED_SENT).
- Steps take no time.  The clock moves when everybody waits, and then to the next instant for
  which somebody waits.  Slow clients are faults (PAUSED, PAUSED_LONG).
- A client whose waiting is over goes on at once to its next request, which is local; it can
  still be struck before it does, and its keeper may come before it or after it.
- A client learns at once that its message was lost.
- Clients with the same plan can be exchanged, and ways that lead to the same state (see
  `states`) are followed once.
"""

from .explore import Report as Report
from .explore import explore as explore
from .explore import replay as replay
from .explore import wander as wander
from .faults import EVERY_FAULT as EVERY_FAULT
from .faults import LOST_MESSAGES as LOST_MESSAGES
from .faults import Fault as Fault
from .holds import SimHold as SimHold
from .leases import SimLease as SimLease
from .leases import SimRwLease as SimRwLease
from .scenario import LOCK as LOCK
from .scenario import READ as READ
from .scenario import WRITE as WRITE
from .scenario import Plan as Plan
from .scenario import Scenario as Scenario
from .scenario import SimRecords as SimRecords
from .scenario import Want as Want
from .scenario import permits as permits
from .watch import Violation as Violation
