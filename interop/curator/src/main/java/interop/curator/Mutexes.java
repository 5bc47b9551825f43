package interop.curator;

import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** InterProcessMutex, and the two halves of a read-write lock, which are mutexes too. */
final class Mutexes {
    static Object perform(Client client, Command command) throws Exception {
        InterProcessMutex mutex = find(client, command);
        switch (command.verb()) {
            case "owned":
                return mutex.isOwnedByCurrentThread();
            case "participants":
                return mutex.getParticipantNodes();
            case "path":
                return Own.path(mutex);
            case "token":
                return Nodes.czxid(client.curator, Own.path(mutex));
            case "make_revocable":
                AtomicInteger wishes = revoked(client, command);
                mutex.makeRevocable(any -> wishes.incrementAndGet());
                return true;
            case "revoked":
                return revoked(client, command).get();
            default:
                return Locks.perform(mutex, command);
        }
    }

    private static InterProcessMutex find(Client client, Command command) {
        return switch (command.text("kind")) {
            case "read" -> pair(client, command).readLock();
            case "write" -> pair(client, command).writeLock();
            default -> client.thing(command, "mutex", InterProcessMutex.class,
                () -> new InterProcessMutex(client.curator, command.text("name")));
        };
    }

    /** Whoever reads under its own write lock must use the two halves of one pair. */
    private static InterProcessReadWriteLock pair(Client client, Command command) {
        return client.thing(command, "rw", InterProcessReadWriteLock.class,
            () -> new InterProcessReadWriteLock(client.curator, command.text("name")));
    }

    /** How often its holder was asked to give it back. */
    private static AtomicInteger revoked(Client client, Command command) {
        String kind = "revoked " + command.text("kind");
        return client.thing(command, kind, AtomicInteger.class, AtomicInteger::new);
    }

    private Mutexes() {
    }
}
