package interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.redisson.api.RedissonClient;

/**
 * Many threads that want the same locks for a while, and count in files under them.
 *
 * The count is read, thought about and written: two at a time lose one.
 */
final class Soak {
    private final RedissonClient client;
    private final Command command;
    private final List<String> names;
    private final Path folder;

    Soak(RedissonClient client, Command command) {
        this.client = client;
        this.command = command;
        this.names = command.texts("names");
        this.folder = Path.of(command.text("folder"));
    }

    /** How often each name was had; thread i wants the name i, in turn. */
    Map<String, Long> run() throws Exception {
        int threads = (int) command.number("threads");
        long end = System.nanoTime() + command.number("run_ms") * 1_000_000;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Long>> grants = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int place = i % names.size();
            grants.add(pool.submit(() -> work(place, end)));
        }
        Map<String, Long> total = new TreeMap<>();
        for (int i = 0; i < threads; i++) {
            total.merge(names.get(i % names.size()), grants.get(i).get(), Long::sum);
        }
        pool.shutdown();
        return total;
    }

    private long work(int place, long end) throws Exception {
        Turn turn = Turn.of(client, command.text("of", "lock"), names.get(place));
        Turn reading = command.has("reads") ? Turn.of(client, "read", names.get(place)) : null;
        Path counter = folder.resolve("count-" + place);
        long grants = 0;
        while (System.nanoTime() < end) {
            if (reading != null) {
                look(reading, counter);
            }
            turn.take();
            try {
                count(counter);
            } finally {
                turn.give();
            }
            grants++;
        }
        return grants;
    }

    /** Whoever may read sees nothing change. */
    private static void look(Turn reading, Path counter) throws Exception {
        reading.take();
        try {
            String before = Files.readString(counter);
            Thread.yield();
            if (before.isEmpty() || !before.equals(Files.readString(counter))) {
                throw new IllegalStateException("somebody wrote while we read");
            }
        } finally {
            reading.give();
        }
    }

    private static void count(Path counter) throws IOException {
        long value = Long.parseLong(Files.readString(counter).trim());
        Thread.yield();
        Files.writeString(counter, Long.toString(value + 1));
    }
}
