import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SentinelServersConfig;

/**
 * Clients of Redisson that take names as they are told; see bench/failovers/contestant.py for the
 * lines and the answers.
 *
 * Arguments: lock or fenced, the Sentinels, their service, milliseconds of a lease.  Its watchdog
 * renews a lease every third of it.  It tells a holder of no loss: that one finds out when it asks,
 * or unlocks, so it believes until then.
 */
public final class RedissonFailovers {
    /** Milliseconds by which the second client comes later. */
    private static final long BEHIND = 30;

    /** Milliseconds until a library that has given up is asked again. */
    private static final long AGAIN = 50;

    /** Milliseconds that a server has to answer; its own 3000 are meant for leases of 30 s. */
    private static final int ANSWER = 2000;

    private final String[] args;
    private final RedissonClient first;
    private final RedissonClient second;
    private RedissonClient fresh;
    private Round round;

    private RedissonFailovers(String[] args) {
        this.args = args;
        first = connect();
        second = connect();
    }

    public static void main(String[] args) throws Exception {
        RedissonFailovers contestant = new RedissonFailovers(args);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(contestant.perform(line.split(" ")));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private RedissonClient connect() {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[3]));
        config.setThreads(8).setNettyThreads(4);
        SentinelServersConfig sentinels = config.useSentinelServers().setMasterName(args[2]);
        sentinels.setTimeout(ANSWER);
        sentinels.setMasterConnectionMinimumIdleSize(4).setSlaveConnectionMinimumIdleSize(1);
        for (String each : args[1].split(",")) {
            sentinels.addSentinelAddress("redis://" + each);
        }
        return Redisson.create(config);
    }

    private String perform(String[] words) throws Exception {
        switch (words[0]) {
            case "ready":
                ready(words[1]);
                return "null";
            case "begin":
                begin(words[1], words[2].split(","));
                return "null";
            case "late":
                late(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                return "null";
            case "end":
                return end();
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private void ready(String name) throws InterruptedException {
        Round probe = new Round(name);
        for (RedissonClient each : List.of(first, second)) {
            RLock lock = lock(each, name);
            probe.insist(lock);
            lock.unlock();
        }
    }

    private void begin(String prefix, String[] instants) {
        round = new Round(prefix);
        for (int number = 0; number < instants.length; number++) {
            long after = Long.parseLong(instants[number]);
            round.want(() -> first, "first", number, after);
            round.want(() -> second, "second", number, after + BEHIND);
        }
    }

    /** Connecting takes its time, and must not hold up the answer. */
    private void late(int start, int stop) {
        for (int number = start; number < stop; number++) {
            round.want(() -> first, "first", number, 0);
            round.want(this::fresh, "fresh", number, 0);
        }
    }

    private synchronized RedissonClient fresh() {
        while (fresh == null) {
            try {
                fresh = connect();
            } catch (RuntimeException refused) {
                round.refused.incrementAndGet();
            }
        }
        return fresh;
    }

    private String end() throws InterruptedException {
        String answer = round.end();
        RedissonClient leaving = fresh;
        fresh = null;
        if (leaving != null) {
            leaving.shutdown(0, 2, TimeUnit.SECONDS);
        }
        return answer;
    }

    private RLock lock(RedissonClient client, String name) {
        return args[0].equals("fenced") ? client.getFencedLock(name) : client.getLock(name);
    }

    /** Where a client is, once it has connected. */
    private interface Place {
        RedissonClient get();
    }

    /** What is wanted until one failover is over; each name by a thread of its own. */
    private final class Round {
        private final String prefix;
        private final AtomicInteger refused = new AtomicInteger();
        private final CountDownLatch over = new CountDownLatch(1);
        private final List<Thread> threads = new ArrayList<>();
        private final List<String> claims = new ArrayList<>();

        Round(String prefix) {
            this.prefix = prefix;
        }

        void want(Place client, String role, int number, long after) {
            String name = prefix + ":" + number;
            Thread thread = new Thread(() -> hold(client, role, name, after));
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }

        private void hold(Place place, String role, String name, long after) {
            try {
                Thread.sleep(after);
                RedissonClient client = place.get();
                RLock lock = lock(client, name);
                Long token = insist(lock);
                keep(role, name, client.getId() + ":" + Thread.currentThread().getId(), token);
                over.await();
                lock.unlock();
            } catch (InterruptedException | RuntimeException end) {
                // The round is over; what the library says now comes too late.
            }
        }

        /** Remember a grant, unless the round is over. */
        private synchronized void keep(String role, String name, String owner, Long token) {
            String words = "[\"%s\", \"%s\", \"%s\", %.6f, %%.6f, null, false, %s]";
            claims.add(String.format(Locale.ROOT, words, name, role, owner, now(), token));
        }

        private Long insist(RLock lock) throws InterruptedException {
            while (true) {
                try {
                    if (lock instanceof RFencedLock) {
                        return ((RFencedLock) lock).lockAndGetToken();
                    }
                    lock.lockInterruptibly();
                    return null;
                } catch (RuntimeException failure) {
                    refused.incrementAndGet();
                    Thread.sleep(AGAIN);
                }
            }
        }

        String end() throws InterruptedException {
            List<String> told = new ArrayList<>();
            synchronized (this) {
                double at = now();
                for (String claim : claims) {
                    told.add(String.format(Locale.ROOT, claim, at));
                }
            }
            over.countDown();
            free();
            return "{\"claims\": [" + String.join(", ", told) + "], \"refused\": " + refused + "}";
        }

        /** Those that hold free what they have; those that still wait stop. */
        private void free() throws InterruptedException {
            Thread.sleep(500);
            for (Thread thread : threads) {
                thread.interrupt();
            }
            for (Thread thread : threads) {
                thread.join(50);
            }
        }
    }

    /** Seconds, of the clock that all processes share. */
    private static double now() {
        return System.nanoTime() / 1e9;
    }
}
