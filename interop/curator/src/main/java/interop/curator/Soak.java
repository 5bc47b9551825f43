package interop.curator;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.zookeeper.KeeperException;

/** Many threads that want the same names for a while, and visit what those guard. */
final class Soak {
    private final Client client;
    private final Command command;
    private final List<String> names;
    private final int max;
    private final Queue<String> violations = new ConcurrentLinkedQueue<>();
    private final Queue<String> errors = new ConcurrentLinkedQueue<>();

    Soak(Client client, Command command) {
        this.client = client;
        this.command = command;
        this.names = command.texts("names");
        this.max = (int) command.number("max", 1);
    }

    /** The tokens of all grants by name, and what went wrong; thread i wants the name i, in turn. */
    Map<String, Object> run() throws Exception {
        int threads = (int) command.number("threads");
        long end = System.nanoTime() + command.number("run_ms") * 1_000_000;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<List<Long>>> workers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int place = i % names.size();
            workers.add(pool.submit(() -> work(place, end)));
        }
        Map<String, List<Long>> tokens = new TreeMap<>();
        for (int i = 0; i < threads; i++) {
            tokens.computeIfAbsent(names.get(i % names.size()), any -> new ArrayList<>())
                .addAll(workers.get(i).get());
        }
        pool.shutdown();
        return Map.of("tokens", tokens, "violations", violations, "errors", errors);
    }

    private List<Long> work(int place, long end) throws Exception {
        String name = names.get(place);
        Turn turn = Turn.of(client.curator, command.text("of"), name, max);
        Turn reading = command.has("reads") ? Turn.of(client.curator, "read", name, max) : null;
        Section section = new Section(Path.of(command.text("folder")), place, max);
        List<Long> tokens = new ArrayList<>();
        while (System.nanoTime() < end) {
            try {
                if (reading != null) {
                    look(reading, section, name);
                }
                visit(turn, section, name, tokens);
            } catch (KeeperException error) {
                // Servers may fail meanwhile; what must not happen is a violation.
                errors.add(error.toString());
            }
        }
        return tokens;
    }

    private void visit(Turn turn, Section section, String name, List<Long> tokens)
            throws Exception {
        turn.take();
        try {
            Long token = Nodes.czxid(client.curator, turn.path());
            if (token == null) {
                errors.add("the node of a grant is gone: " + turn.path());
                return;
            }
            tokens.add(token);
            if (!section.visit(token)) {
                violations.add(name + ": no room for " + token);
            }
        } finally {
            turn.give();
        }
    }

    private void look(Turn reading, Section section, String name) throws Exception {
        reading.take();
        try {
            if (!section.look()) {
                violations.add(name + ": somebody wrote while we read");
            }
        } finally {
            reading.give();
        }
    }
}
