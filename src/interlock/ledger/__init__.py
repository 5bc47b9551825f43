"""What one atomic operation does to a store's records, written once.

Memory and SQLite run these functions as they stand, under a mutex or in a transaction,
and the simulation explores them; the Lua scripts of Redis say the same in Lua, and tests
hold them equal.

    records.py     what the operations need of a store's records
    locks.py       everything that is held: locks, readers and writers, permits
    latches.py     latches
    elections.py   elections
    barriers.py    barriers
    inspection.py  what can be read: holders, kinds, names, reasons
    stores.py      the operations as the stores of a backend

Theory of operation.  A name has room: a lock has room for one owner, a read/write lock for
one writer or any number of readers, a semaphore for as many permits as were declared.  Owners
that find no room stand in a queue, in the order in which the store first heard of them.
An owner that gives something up *hands it over*: the first waiters that still hear, as many
as fit, are recorded as holders, for a short provisional lease, and woken; the next attempt
of each finds itself holding, which makes the lease whole.  So a claim is an ordinary attempt,
a waiter that died or sleeps costs one provisional lease and no more, and nothing depends on
the wake arriving.  If a holder died, the next attempt performs the hand-over in its place.
No owner overtakes: a writer that waits is not starved by readers that come after it.

An owner names one acquisition and is never used again.  That makes every operation safe
to repeat, and lets a withdrawal bury its owner: a question that was delayed in the
network and arrives after its withdrawal finds the tombstone and is refused.
"""

from . import barriers as barriers
from .inspection import introduce as introduce
from .inspection import kind_of as kind_of
from .inspection import look as look
from .inspection import names as names
from .inspection import withdrawal_reason as withdrawal_reason
from .latches import count_down as count_down
from .latches import pass_latch as pass_latch
from .latches import set_count as set_count
from .locks import attempt as attempt
from .locks import downgrade as downgrade
from .locks import hand_over as hand_over
from .locks import release as release
from .locks import renew as renew
from .locks import set_permits as set_permits
from .locks import withdraw as withdraw
from .records import BURIED as BURIED
from .records import BUSY as BUSY
from .records import GRANTED as GRANTED
from .records import MISMATCH as MISMATCH
from .records import NOT_HELD as NOT_HELD
from .records import OTHER_KIND as OTHER_KIND
from .records import RELEASED as RELEASED
from .records import UNSET as UNSET
from .records import WHOLE as WHOLE
from .records import Declared as Declared
from .records import Held as Held
from .records import Queued as Queued
from .records import Records as Records
from .registers import read_register as read_register
from .registers import write_register as write_register
from .stores import LedgerBarriers as LedgerBarriers
from .stores import LedgerDirectory as LedgerDirectory
from .stores import LedgerElections as LedgerElections
from .stores import LedgerLatches as LedgerLatches
from .stores import LedgerLocks as LedgerLocks
from .stores import LedgerPermits as LedgerPermits
from .stores import LedgerRegisters as LedgerRegisters
from .stores import LedgerRw as LedgerRw
from .stores import LedgerStores as LedgerStores
from .stores import OtherKind as OtherKind
from .stores import refusal as refusal
