package interop.curator;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/**
 * InterProcessSemaphoreV2, and the leases that its user has, the latest first.
 *
 * Its maximum is a number (`max`), or the value of the SharedCount at a path (`count`).
 */
final class Semaphores {
    private record Semaphore(InterProcessSemaphoreV2 recipe, Deque<Lease> leases) {
    }

    static Object perform(Client client, Command command) throws Exception {
        Semaphore semaphore =
            client.thing(command, "semaphore", Semaphore.class, () -> make(client, command));
        return switch (command.verb()) {
            case "acquire" -> acquire(semaphore, command);
            case "release" -> release(semaphore);
            case "held" -> semaphore.leases().size();
            case "participants" -> semaphore.recipe().getParticipantNodes();
            case "token" -> tokens(client, semaphore, command.text("name"));
            default -> throw command.unknown();
        };
    }

    private static Semaphore make(Client client, Command command) {
        String path = command.text("name");
        InterProcessSemaphoreV2 recipe = command.has("count")
            ? new InterProcessSemaphoreV2(client.curator, path, Counters.limit(client, command))
            : new InterProcessSemaphoreV2(client.curator, path, (int) command.number("max"));
        if (command.has("data")) {
            recipe.setNodeData(command.text("data").getBytes(StandardCharsets.UTF_8));
        }
        return new Semaphore(recipe, new ConcurrentLinkedDeque<>());
    }

    private static boolean acquire(Semaphore semaphore, Command command) throws Exception {
        Lease lease = command.has("ms")
            ? semaphore.recipe().acquire(command.number("ms"), MILLISECONDS)
            : semaphore.recipe().acquire();
        if (lease != null) {
            semaphore.leases().push(lease);
        }
        return lease != null;
    }

    private static boolean release(Semaphore semaphore) {
        semaphore.recipe().returnLease(semaphore.leases().pop());
        return true;
    }

    /** The tokens of the leases held, the latest first. */
    private static List<Long> tokens(Client client, Semaphore semaphore, String path)
            throws Exception {
        List<Long> tokens = new ArrayList<>();
        for (Lease lease : semaphore.leases()) {
            tokens.add(Nodes.czxid(client.curator, Own.path(lease, path)));
        }
        return tokens;
    }

    private Semaphores() {
    }
}
