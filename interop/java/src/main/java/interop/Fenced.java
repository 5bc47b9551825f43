package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RFencedLock;

/** A lock whose grants are numbered; the rest it does as any lock. */
final class Fenced {
    static Object perform(RFencedLock lock, Command command) throws InterruptedException {
        return switch (command.text("verb")) {
            case "lockAndGetToken" -> lock.lockAndGetToken();
            case "tryLockAndGetToken" -> tryLock(lock, command);
            case "getToken" -> lock.getToken();
            default -> Locks.perform(lock, command);
        };
    }

    private static Long tryLock(RFencedLock lock, Command command) {
        long wait = command.number("wait_ms", 0);
        return lock.tryLockAndGetToken(wait, command.number("lease_ms", -1), MILLISECONDS);
    }

    private Fenced() {
    }
}
