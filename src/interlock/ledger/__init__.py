"""What one atomic operation does to a store's records, written once.

Memory and SQLite run these functions as they stand, under a mutex or in a transaction,
and the simulation explores them; the Lua scripts of Redis say the same in Lua, and tests
hold them equal.

    shelf.py     what the operations need of a store's records
    shares.py    everything that is held: locks, readers and writers, permits
    counting.py  latches
    views.py     looking, and saying who is who
    stores.py    the operations as the stores of a backend

Theory of operation.  A name has room: a lock has room for one owner, a read/write lock for
one writer or any number of readers, a semaphore for as many permits as were set.  Owners
that find no room stand in a queue, in the order in which the store first heard of them.
Whoever gives something up *hands it over*: the first waiters that still hear, as many as
fit, are written down as holders, for a short provisional lease, and woken; the next attempt
of each finds itself holding, which makes the lease whole.  So a claim is an ordinary attempt,
a waiter that died or sleeps costs one provisional lease and no more, and nothing depends on
the wake arriving.  If a holder died, whoever asks next performs the hand-over in its place.
Nobody overtakes: a writer that waits is not starved by readers that come after it.

An owner names one acquisition and is never used again.  That makes every operation safe
to repeat, and lets a withdrawal bury its owner: a question that was delayed in the
network and arrives after its withdrawal finds the tombstone and is refused.
"""

from .counting import count_down as count_down
from .counting import pass_latch as pass_latch
from .counting import set_count as set_count
from .shares import attempt as attempt
from .shares import downgrade as downgrade
from .shares import hand_over as hand_over
from .shares import release as release
from .shares import renew as renew
from .shares import set_permits as set_permits
from .shares import withdraw as withdraw
from .shelf import BURIED as BURIED
from .shelf import BUSY as BUSY
from .shelf import GRANTED as GRANTED
from .shelf import NOT_HELD as NOT_HELD
from .shelf import OTHER_KIND as OTHER_KIND
from .shelf import RELEASED as RELEASED
from .shelf import UNSET as UNSET
from .shelf import WHOLE as WHOLE
from .shelf import Fact as Fact
from .shelf import Held as Held
from .shelf import Shelf as Shelf
from .shelf import Waiter as Waiter
from .stores import LedgerDirectory as LedgerDirectory
from .stores import LedgerLatches as LedgerLatches
from .stores import LedgerLocks as LedgerLocks
from .stores import LedgerPermits as LedgerPermits
from .stores import LedgerRw as LedgerRw
from .stores import LedgerStores as LedgerStores
from .stores import OtherKind as OtherKind
from .stores import refusal as refusal
from .views import introduce as introduce
from .views import kind_of as kind_of
from .views import look as look
from .views import names as names
from .views import why as why
