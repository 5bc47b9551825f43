package interop.curator;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;

/** What every lock can do, and the two kinds that can do no more: smutex and multi. */
final class Locks {
    static Object perform(Client client, Command command) throws Exception {
        return command.text("kind").equals("multi") ? multi(client, command) : smutex(client, command);
    }

    static Object perform(InterProcessLock lock, Command command) throws Exception {
        switch (command.verb()) {
            case "acquire":
                return acquire(lock, command);
            case "release":
                lock.release();
                return true;
            case "held":
                return lock.isAcquiredInThisProcess();
            default:
                throw command.unknown();
        }
    }

    private static boolean acquire(InterProcessLock lock, Command command) throws Exception {
        if (command.has("ms")) {
            return lock.acquire(command.number("ms"), MILLISECONDS);
        }
        lock.acquire();
        return true;
    }

    private static Object smutex(Client client, Command command) throws Exception {
        String path = command.text("name");
        InterProcessSemaphoreMutex mutex = client.thing(command, "smutex",
            InterProcessSemaphoreMutex.class, () -> new InterProcessSemaphoreMutex(client.curator, path));
        return switch (command.verb()) {
            case "path" -> Own.path(mutex, path);
            case "token" -> Nodes.czxid(client.curator, Own.path(mutex, path));
            default -> perform(mutex, command);
        };
    }

    /** Several mutexes as one, and the mutexes, which know their nodes. */
    private record Multi(List<InterProcessMutex> members, InterProcessMultiLock lock) {
        static Multi of(Client client, Command command) {
            List<InterProcessMutex> members = command.texts("names").stream()
                .map(path -> new InterProcessMutex(client.curator, path)).toList();
            return new Multi(members, new InterProcessMultiLock(new ArrayList<>(members)));
        }

        List<Long> tokens(Client client) throws Exception {
            List<Long> tokens = new ArrayList<>();
            for (InterProcessMutex each : members) {
                tokens.add(Nodes.czxid(client.curator, Own.path(each)));
            }
            return tokens;
        }
    }

    private static Object multi(Client client, Command command) throws Exception {
        Multi multi = client.thing(command, "multi", Multi.class, () -> Multi.of(client, command));
        return command.verb().equals("token") ? multi.tokens(client) : perform(multi.lock(), command);
    }

    private Locks() {
    }
}
