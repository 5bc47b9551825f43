package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RCountDownLatch;
import org.redisson.api.RedissonClient;

/** A count that many wait for. */
final class Latches {
    static Object perform(RedissonClient client, Command command) throws InterruptedException {
        RCountDownLatch latch = client.getCountDownLatch(command.text("name"));
        switch (command.text("verb")) {
            case "trySetCount":
                return latch.trySetCount(command.number("count"));
            case "await":
                return await(latch, command);
            case "countDown":
                latch.countDown();
                return true;
            case "getCount":
                return latch.getCount();
            default:
                throw new IllegalArgumentException("no such verb: " + command.text("verb"));
        }
    }

    private static boolean await(RCountDownLatch latch, Command command)
            throws InterruptedException {
        if (command.has("wait_ms")) {
            return latch.await(command.number("wait_ms"), MILLISECONDS);
        }
        latch.await();
        return true;
    }

    private Latches() {
    }
}
