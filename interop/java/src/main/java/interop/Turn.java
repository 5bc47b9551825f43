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
            case "multi" -> new Several(client.getMultiLock(members(client, name)));
            default -> new Alone(Locks.single(client, kind, name));
        };
    }

    /** The other way round than Python takes them. */
    private static RLock[] members(RedissonClient client, String name) {
        return Stream.of("c", "b", "a").map(each -> client.getLock(name + each)).toArray(RLock[]::new);
    }

    record Alone(RLock lock) implements Turn {
        public void take() {
            lock.lock();
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

    /** Waits a little and begins anew: whoever takes them in another order would wait for ever. */
    record Several(RLock lock) implements Turn {
        public void take() throws InterruptedException {
            while (!lock.tryLock(50, -1, MILLISECONDS)) {
                Thread.yield();
            }
        }

        public void give() {
            lock.unlock();
        }
    }
}
