"""Jobs: what runs once in the whole cluster, however many instances of a program there are.

Theory of operation.  Every instance has the same jobs and wakes at the same ticks, by its own
clock. A tick is known by the instant for which it was scheduled, so instances whose clocks differ
speak of the same one.  Which ticks have run is kept in a register (`spi.RegisterStore`), one for
each job, which is changed by compare-and-set: of several instances that claim one tick, one
succeeds, whatever their clocks and whatever becomes of their leases.  A claim is made before the
job begins, and only under the job's lock, which keeps the runs of different ticks apart, is
renewed while the job runs, and gives each run a token.  An instance that dies leaves its claim
behind, so its tick is not run again unless the job says `retry_dead`; its lock ends with its
lease, and the next tick runs elsewhere.

Everything here is pure: schedules and histories decide without I/O, and the loop of a job is a
generator whose clocks are passed in (`loop.py`).  `api/jobs.py` runs it in threads and in tasks.
"""

from .history import Run as Run
from .schedule import CronSchedule as CronSchedule
from .schedule import IntervalSchedule as IntervalSchedule
