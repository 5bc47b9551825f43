package interop.curator;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** A barrier that somebody sets and removes, and one for so many who come and go together. */
final class Barriers {
    static Object single(Client client, Command command) throws Exception {
        DistributedBarrier barrier = client.thing(command, "barrier", DistributedBarrier.class,
            () -> new DistributedBarrier(client.curator, command.text("name")));
        switch (command.verb()) {
            case "set":
                barrier.setBarrier();
                return true;
            case "remove":
                barrier.removeBarrier();
                return true;
            case "wait":
                return pass(barrier, command);
            default:
                throw command.unknown();
        }
    }

    private static boolean pass(DistributedBarrier barrier, Command command) throws Exception {
        if (command.has("ms")) {
            return barrier.waitOnBarrier(command.number("ms"), MILLISECONDS);
        }
        barrier.waitOnBarrier();
        return true;
    }

    static Object twofold(Client client, Command command) throws Exception {
        DistributedDoubleBarrier barrier = client.thing(
            command, "double_barrier", DistributedDoubleBarrier.class,
            () -> new DistributedDoubleBarrier(
                client.curator, command.text("name"), (int) command.number("members")));
        long ms = command.number("ms", Integer.MAX_VALUE);
        return switch (command.verb()) {
            case "enter" -> barrier.enter(ms, MILLISECONDS);
            case "leave" -> barrier.leave(ms, MILLISECONDS);
            default -> throw command.unknown();
        };
    }

    private Barriers() {
    }
}
