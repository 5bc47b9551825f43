package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Everything that is an RLock: plain, fair, read, write, and several as one. */
final class Locks {
    static RLock find(RedissonClient client, String kind, Command command) {
        return switch (kind) {
            case "multi" -> client.getMultiLock(several(client, command));
            case "redlock" -> client.getRedLock(several(client, command));
            default -> single(client, kind, command.text("name"));
        };
    }

    static RLock single(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "spin" -> client.getSpinLock(name);
            case "fair" -> client.getFairLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            default -> throw new IllegalArgumentException("no such kind: " + kind);
        };
    }

    private static RLock[] several(RedissonClient client, Command command) {
        String kind = command.text("of", "lock");
        return command.texts("names").stream()
            .map(name -> single(client, kind, name))
            .toArray(RLock[]::new);
    }

    static Object perform(RLock lock, Command command) throws InterruptedException {
        return switch (command.text("verb")) {
            case "lock" -> lock(lock, command);
            case "tryLock" -> tryLock(lock, command);
            case "unlock" -> unlock(lock);
            case "forceUnlock" -> lock.forceUnlock();
            case "isLocked" -> lock.isLocked();
            case "remainTimeToLive" -> lock.remainTimeToLive();
            case "getHoldCount" -> lock.getHoldCount();
            case "isHeldByCurrentThread" -> lock.isHeldByCurrentThread();
            default -> throw new IllegalArgumentException("no such verb: " + command.text("verb"));
        };
    }

    private static Object lock(RLock lock, Command command) {
        if (command.has("lease_ms")) {
            lock.lock(command.number("lease_ms"), MILLISECONDS);
        } else {
            lock.lock();
        }
        return true;
    }

    private static boolean tryLock(RLock lock, Command command) throws InterruptedException {
        if (!command.has("wait_ms") && !command.has("lease_ms")) {
            return lock.tryLock();
        }
        long wait = command.number("wait_ms", 0);
        return lock.tryLock(wait, command.number("lease_ms", -1), MILLISECONDS);
    }

    private static Object unlock(RLock lock) {
        lock.unlock();
        return true;
    }

    private Locks() {
    }
}
