import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Takes and frees what it is told, with Redisson at its defaults, in its main thread.
 *
 * Arguments: the address of a server (redis://host:port), of a cluster (redis+cluster://host:port,…),
 * or those of several servers, which the kind redlock lets vote.  Lines are words: the verb (pairs,
 * take, wait, free), the kind, the name, and for pairs how many, for free how many microseconds to
 * wait before.  Each is answered by one number: an instant of the clock that all processes share.
 */
public final class RedissonTurns {
    private static final String CLUSTER = "redis+cluster://";

    /** Something that can be taken and freed. */
    private interface Turn {
        void take() throws InterruptedException;

        void free();
    }

    private final List<RedissonClient> clients;
    /** The only one, or the first of several. */
    private final RedissonClient client;
    private final Map<String, Turn> turns = new HashMap<>();

    private RedissonTurns(String[] addresses) {
        clients = Arrays.stream(addresses).map(RedissonTurns::connect).toList();
        client = clients.get(0);
    }

    private static RedissonClient connect(String address) {
        Config config = new Config();
        if (address.startsWith(CLUSTER)) {
            String[] nodes = address.substring(CLUSTER.length()).split(",");
            config.useClusterServers().addNodeAddress(
                Arrays.stream(nodes).map(node -> "redis://" + node).toArray(String[]::new));
        } else {
            config.useSingleServer().setAddress(address);
        }
        return Redisson.create(config);
    }

    public static void main(String[] args) throws Exception {
        RedissonTurns turns = new RedissonTurns(args);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(turns.perform(line.split(" ")));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private long perform(String[] words) throws InterruptedException {
        Turn turn = turns.computeIfAbsent(words[1] + " " + words[2], key -> find(words[1], words[2]));
        switch (words[0]) {
            case "pairs":
                return pairs(turn, Integer.parseInt(words[3]));
            case "take":
                turn.take();
                return System.nanoTime();
            case "wait":
                return waitAndFree(turn);
            case "free":
                return free(turn, Long.parseLong(words[3]));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static long pairs(Turn turn, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            turn.take();
            turn.free();
        }
        return System.nanoTime();
    }

    private static long waitAndFree(Turn turn) throws InterruptedException {
        turn.take();
        long held = System.nanoTime();
        turn.free();
        return held;
    }

    private static long free(Turn turn, long pauseMicros) throws InterruptedException {
        Thread.sleep(pauseMicros / 1000, (int) (pauseMicros % 1000) * 1000);
        long before = System.nanoTime();
        turn.free();
        return before;
    }

    private Turn find(String kind, String name) {
        switch (kind) {
            case "lock":
                return lock(client.getLock(name));
            case "redlock":
                return lock(redLock(name));
            case "fair":
                return lock(client.getFairLock(name));
            case "fenced":
                return lock(client.getFencedLock(name));
            case "read":
                return lock(client.getReadWriteLock(name).readLock());
            case "write":
                return lock(client.getReadWriteLock(name).writeLock());
            case "semaphore":
                return semaphore(client.getSemaphore(name));
            case "leased":
                return leased(client.getPermitExpirableSemaphore(name));
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    /** Deprecated by its makers, and what Java has. */
    @SuppressWarnings("deprecation")
    private RLock redLock(String name) {
        return new RedissonRedLock(clients.stream().map(each -> each.getLock(name)).toArray(RLock[]::new));
    }

    private static Turn lock(RLock lock) {
        return new Turn() {
            public void take() {
                lock.lock();
            }

            public void free() {
                lock.unlock();
            }
        };
    }

    private static Turn semaphore(RSemaphore semaphore) {
        semaphore.trySetPermits(4);
        return new Turn() {
            public void take() throws InterruptedException {
                semaphore.acquire();
            }

            public void free() {
                semaphore.release();
            }
        };
    }

    private static Turn leased(RPermitExpirableSemaphore semaphore) {
        semaphore.trySetPermits(4);
        return new Turn() {
            private String permit;

            public void take() throws InterruptedException {
                permit = semaphore.acquire(30, TimeUnit.SECONDS);
            }

            public void free() {
                semaphore.release(permit);
            }
        };
    }
}
