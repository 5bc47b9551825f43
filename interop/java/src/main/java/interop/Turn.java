package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.stream.Stream;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** Some way to be alone for a moment; each thread has a turn of its own. */
interface Turn {
    void take() throws InterruptedException;

    void give();

    /** The turn of a kind of lock, or of a semaphore that has one permit. */
    static Turn of(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "semaphore" -> new Permit(client.getSemaphore(name));
            case "leased_semaphore" -> new Leased(client.getPermitExpirableSemaphore(name));
            case "multi" -> new Several(
                several(client, name, "c", "b", "a"), several(client, name, "a", "b", "c"));
            case "read", "write" -> new Doubtful(Locks.single(client, kind, name));
            default -> new Alone(Locks.single(client, kind, name));
        };
    }

    private static RLock several(RedissonClient client, String name, String... members) {
        return client.getMultiLock(
            Stream.of(members).map(each -> client.getLock(name + each)).toArray(RLock[]::new));
    }

    record Alone(RLock lock) implements Turn {
        public void take() {
            lock.lock();
        }

        public void give() {
            lock.unlock();
        }
    }

    /**
     * Asks again every now and then.  When a writer of Redisson leaves, it wakes the threads that
     * sleep at that moment and no other: one that has its refusal in hand, and is about to sleep,
     * hears nothing and sleeps for the whole lease that it was told of, though the lock is free.
     * The pause is long: whoever only came in by asking again would have next to no share.
     */
    record Doubtful(RLock lock) implements Turn {
        private static final long PAUSE_MS = 5_000;

        public void take() throws InterruptedException {
            boolean held = false;
            while (!held) {
                held = lock.tryLock(PAUSE_MS, -1, MILLISECONDS);
            }
        }

        public void give() {
            lock.unlock();
        }
    }

    record Permit(RSemaphore semaphore) implements Turn {
        public void take() throws InterruptedException {
            semaphore.acquire();
        }

        public void give() {
            semaphore.release();
        }
    }

    /** Remembers the permit that it has. */
    final class Leased implements Turn {
        private final RPermitExpirableSemaphore semaphore;
        private String permit;

        Leased(RPermitExpirableSemaphore semaphore) {
            this.semaphore = semaphore;
        }

        public void take() throws InterruptedException {
            permit = semaphore.acquire(30_000, MILLISECONDS);
        }

        public void give() {
            semaphore.release(permit);
        }
    }

    /**
     * Tries them the other way round than Python, for a little while, and then as Python does:
     * whoever insists on another order than everybody else may wait for ever.
     */
    final class Several implements Turn {
        private final RLock reversed;
        private final RLock straight;
        private RLock held;

        Several(RLock reversed, RLock straight) {
            this.reversed = reversed;
            this.straight = straight;
        }

        public void take() throws InterruptedException {
            held = null;
            while (held == null) {
                if (reversed.tryLock(20, -1, MILLISECONDS)) {
                    held = reversed;
                } else if (straight.tryLock(1000, -1, MILLISECONDS)) {
                    held = straight;
                }
            }
        }

        public void give() {
            held.unlock();
        }
    }
}
