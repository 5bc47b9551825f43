package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** Permits: plain ones are numbers, leased ones have an id and an end. */
final class Semaphores {
    static Object plain(RedissonClient client, Command command) throws InterruptedException {
        RSemaphore semaphore = client.getSemaphore(command.text("name"));
        int permits = (int) command.number("permits", 1);
        switch (command.text("verb")) {
            case "trySetPermits":
                return semaphore.trySetPermits(permits);
            case "acquire":
                semaphore.acquire(permits);
                return true;
            case "tryAcquire":
                return semaphore.tryAcquire(permits, Duration.ofMillis(command.number("wait_ms", 0)));
            case "release":
                semaphore.release(permits);
                return true;
            case "availablePermits":
                return semaphore.availablePermits();
            case "addPermits":
                semaphore.addPermits(permits);
                return true;
            default:
                throw new IllegalArgumentException("no such verb: " + command.text("verb"));
        }
    }

    static Object leased(RedissonClient client, Command command) throws InterruptedException {
        RPermitExpirableSemaphore semaphore =
            client.getPermitExpirableSemaphore(command.text("name"));
        int permits = (int) command.number("permits", 1);
        switch (command.text("verb")) {
            case "trySetPermits":
                return semaphore.trySetPermits(permits);
            case "acquire":
                return acquire(semaphore, command);
            case "tryAcquire":
                return semaphore.tryAcquire(
                    command.number("wait_ms", 0), command.number("lease_ms", -1), MILLISECONDS);
            case "tryRelease":
                return semaphore.tryRelease(command.text("permit"));
            case "release":
                semaphore.release(command.text("permit"));
                return true;
            case "availablePermits":
                return semaphore.availablePermits();
            case "acquiredPermits":
                return semaphore.acquiredPermits();
            case "addPermits":
                semaphore.addPermits(permits);
                return true;
            case "updateLeaseTime":
                return semaphore.updateLeaseTime(
                    command.text("permit"), command.number("lease_ms"), MILLISECONDS);
            default:
                throw new IllegalArgumentException("no such verb: " + command.text("verb"));
        }
    }

    private static String acquire(RPermitExpirableSemaphore semaphore, Command command)
            throws InterruptedException {
        if (command.has("lease_ms")) {
            return semaphore.acquire(command.number("lease_ms"), MILLISECONDS);
        }
        return semaphore.acquire();
    }

    private Semaphores() {
    }
}
