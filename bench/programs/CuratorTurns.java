import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

/**
 * Takes and frees what it is told, with Curator at its defaults, in its main thread.
 *
 * Argument: the servers (host:port).  Lines are words: the verb (pairs, take, time, wait, free),
 * the kind, the name, and for pairs how many, for free how many microseconds to wait before.
 * Each is answered by one number: an instant of the clock that all processes share, but for
 * time, which takes something and says for how many nanoseconds.
 */
public final class CuratorTurns {
    /** Something that can be taken and freed. */
    private interface Turn {
        void take() throws Exception;

        void free() throws Exception;
    }

    private final CuratorFramework client;
    private final Map<String, Turn> turns = new HashMap<>();

    private CuratorTurns(String servers) throws InterruptedException {
        client = CuratorFrameworkFactory.builder()
            .connectString(servers)
            .ensembleTracker(false)
            .retryPolicy(new RetryOneTime(100))
            .build();
        client.start();
        client.blockUntilConnected();
    }

    public static void main(String[] args) throws Exception {
        CuratorTurns turns = new CuratorTurns(args[0]);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(turns.perform(line.split(" ")));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private long perform(String[] words) throws Exception {
        Turn turn = turns.computeIfAbsent(words[1] + " " + words[2], key -> find(words[1], words[2]));
        switch (words[0]) {
            case "pairs":
                return pairs(turn, Integer.parseInt(words[3]));
            case "take":
                turn.take();
                return System.nanoTime();
            case "time":
                return time(turn);
            case "wait":
                return waitAndFree(turn);
            case "free":
                return free(turn, Long.parseLong(words[3]));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static long pairs(Turn turn, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            turn.take();
            turn.free();
        }
        return System.nanoTime();
    }

    private static long time(Turn turn) throws Exception {
        long before = System.nanoTime();
        turn.take();
        return System.nanoTime() - before;
    }

    private static long waitAndFree(Turn turn) throws Exception {
        turn.take();
        long held = System.nanoTime();
        turn.free();
        return held;
    }

    private static long free(Turn turn, long pauseMicros) throws Exception {
        Thread.sleep(pauseMicros / 1000, (int) (pauseMicros % 1000) * 1000);
        long before = System.nanoTime();
        turn.free();
        return before;
    }

    private Turn find(String kind, String name) {
        switch (kind) {
            case "lock":
                return lock(new InterProcessMutex(client, "/" + name));
            case "semaphore":
                return semaphore(new InterProcessSemaphoreV2(client, "/" + name, 4));
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static Turn lock(InterProcessLock lock) {
        return new Turn() {
            public void take() throws Exception {
                lock.acquire();
            }

            public void free() throws Exception {
                lock.release();
            }
        };
    }

    private static Turn semaphore(InterProcessSemaphoreV2 semaphore) {
        return new Turn() {
            private Lease lease;

            public void take() throws Exception {
                lease = semaphore.acquire();
            }

            public void free() {
                semaphore.returnLease(lease);
            }
        };
    }
}
